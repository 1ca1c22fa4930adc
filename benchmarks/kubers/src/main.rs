//! The other side of the comparison: kube-rs's watcher and reflector store, as `../clientgo` is client-go's informer.
//!
//!     kubers --url http://127.0.0.1:8001 --mode list|stream [--objects 20000] [--keep-managed-fields]
//!     kubers --kubeconfig FILE --mode list|stream [--objects 20000]
//!     kubers --url http://127.0.0.1:8001 --mode latency [--objects 5000] [--events 20000]
//!
//! Prints one JSON object: CPU seconds (user and system, from just before the client is made until the store is
//! complete), wall seconds, resident memory. One thread, as a program that only watches needs no more. Mode latency prints
//! the nanoseconds of each event from the time in its annotation `example.com/sent` until it is in the store.

use std::{env, fs, time::Duration, time::Instant, time::SystemTime};

use futures::StreamExt;
use kube::{
    Api, Client, Config, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{WatchStreamExt, reflector, watcher},
};
use serde_json::json;

struct Options {
    url: String,
    kubeconfig: String,
    streaming: bool,
    latency: bool,
    objects: usize,
    events: usize,
    keep: bool,
}

fn options() -> Options {
    let mut found = Options {
        url: String::new(),
        kubeconfig: String::new(),
        streaming: false,
        latency: false,
        objects: 20_000,
        events: 20_000,
        keep: false,
    };
    let mut arguments = env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--keep-managed-fields" {
            found.keep = true;
            continue;
        }
        let value = arguments
            .next()
            .unwrap_or_else(|| panic!("{name} needs a value"));
        match name.as_str() {
            "--url" => found.url = value,
            "--kubeconfig" => found.kubeconfig = value,
            "--mode" => {
                found.streaming = value == "stream";
                found.latency = value == "latency";
            }
            "--events" => found.events = value.parse().expect("--events is a number"),
            "--objects" => found.objects = value.parse().expect("--objects is a number"),
            _ => panic!("unknown option {name}"),
        }
    }
    found
}

async fn config(options: &Options) -> Config {
    if options.kubeconfig.is_empty() {
        return Config::new(options.url.parse().expect("--url is a URL"));
    }
    let file = Kubeconfig::read_from(&options.kubeconfig).expect("the kubeconfig can be read");
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .expect("the kubeconfig is complete")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = options();
    let (before, began_cpu, began) = (memory("VmRSS"), cpu(), Instant::now());
    let client = Client::try_from(config(&options).await).expect("a client");
    let resource = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("bench.example.com", "v1", "Widget"),
        "widgets",
    );
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    // One response from the watch cache, as client-go's reflector requests it.
    let listing = if options.streaming {
        watcher::Config::default().streaming_lists()
    } else {
        watcher::Config::default().any_semantic()
    };
    let writer = reflector::store::Writer::new(resource.clone());
    let store = writer.as_reader();
    let keep = options.keep;
    let events = watcher(api, listing)
        .default_backoff()
        .modify(move |object| {
            if !keep {
                object.managed_fields_mut().clear();
            }
        });
    let mut events = Box::pin(events.reflect(writer));
    let sync = async {
        while let Some(event) = events.next().await {
            if matches!(event.expect("no error"), watcher::Event::InitDone) {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(120), sync)
        .await
        .expect("synced in time");
    if options.latency {
        let (began_cpu, mut latency) = (cpu(), Vec::with_capacity(options.events));
        while latency.len() < options.events {
            let event = events.next().await.expect("the stream does not end");
            if let watcher::Event::Apply(object) = event.expect("no error") {
                let sent = &object.annotations()["example.com/sent"];
                latency.push(now() - sent.parse::<i64>().expect("nanoseconds"));
            }
        }
        let used = cpu() - began_cpu;
        println!(
            "{}",
            json!({"client": "kube-rs", "mode": "latency", "events_cpu_s": used, "latency_ns": latency})
        );
        return;
    }
    let (used, wall) = (cpu() - began_cpu, began.elapsed().as_secs_f64());
    let (resident, count) = (memory("VmRSS"), store.len());
    assert_eq!(count, options.objects);
    unsafe { libc::malloc_trim(0) };
    let held = memory("VmRSS") - before;
    println!(
        "{}",
        json!({
            "client": "kube-rs", "mode": if options.streaming { "stream" } else { "list" }, "objects": count,
            "cpu_s": used, "wall_s": wall, "rss_before_mb": before, "rss_mb": resident, "peak_mb": memory("VmHWM"),
            "held_mb": held, "bytes_per_object": held * 1048576.0 / count as f64,
        })
    );
}

/// Nanoseconds since the epoch.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.expect("after 1970").as_nanos() as i64
}

/// User and system seconds of this process.
fn cpu() -> f64 {
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// A field of /proc/self/status in MiB: VmRSS (now) or VmHWM (peak).
fn memory(field: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is there");
    let line = status
        .lines()
        .find(|line| line.starts_with(field))
        .expect("the field is there");
    line.split_whitespace()
        .nth(1)
        .and_then(|text| text.parse::<f64>().ok())
        .expect("a number")
        / 1024.0
}
