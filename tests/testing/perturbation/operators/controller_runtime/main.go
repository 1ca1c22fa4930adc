// An operator of fleets on controller-runtime: a ConfigMap labelled "fleet" gets as many ships, which are ConfigMaps too.
//
// With -ships=generated it has a bug: it creates ships with generated names, and then annotates the fleet as launched. If
// it is killed in between, or the annotation is refused, it creates all ships again. With -ships=named the names follow
// from that of the fleet, and it has not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

type reconciler struct {
	client.Client
	generated bool
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var fleet corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &fleet); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	size, err := strconv.Atoi(fleet.Data["size"])
	if err != nil || !fleet.DeletionTimestamp.IsZero() || fleet.Annotations["launched"] != "" {
		return ctrl.Result{}, nil
	}
	for number := range size {
		if err := r.Create(ctx, r.ship(&fleet, number)); err != nil && (r.generated || !apierrors.IsAlreadyExists(err)) {
			return ctrl.Result{}, err
		}
	}
	patch := client.MergeFrom(fleet.DeepCopy())
	metav1.SetMetaDataAnnotation(&fleet.ObjectMeta, "launched", "true")
	return ctrl.Result{}, r.Patch(ctx, &fleet, patch)
}

func (r *reconciler) ship(fleet *corev1.ConfigMap, number int) *corev1.ConfigMap {
	ship := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: fleet.Namespace, Labels: map[string]string{"of": fleet.Name}}}
	if r.generated {
		ship.GenerateName = fleet.Name + "-"
	} else {
		ship.Name = fmt.Sprintf("%s-%d", fleet.Name, number)
	}
	ship.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(fleet, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	return ship
}

func run(generated bool) error {
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	isFleet := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetLabels()["fleet"] != "" })
	err = ctrl.NewControllerManagedBy(manager).
		For(&corev1.ConfigMap{}, builder.WithPredicates(isFleet)).
		Complete(&reconciler{Client: manager.GetClient(), generated: generated})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	ships := flag.String("ships", "named", "the names of ships: named or generated")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(*ships == "generated"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
