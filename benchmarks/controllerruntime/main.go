// Command controllerruntime is the other side of ../controllers: the same controllers with controller-runtime, on
// custom objects as Unstructured.
//
//	controllerruntime -kubeconfig FILE -task empty|read|write -objects 20000 [-concurrency 8]
//	controllerruntime -task queue -objects 20000
//
// It prints one JSON object, with the same numbers as ../controllers/side.py. The defaults of controller-runtime hold,
// with these exceptions: no limit of requests per second, Unstructured is read from the cache, managedFields are dropped
// from the cache, and there is no metrics server.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var widget = schema.GroupVersionKind{Group: "bench.example.com", Version: "v1", Kind: "Widget"}

// reconciler does what its task says, until all objects need nothing more.
type reconciler struct {
	client client.Client
	task   string
	value  string // what is written; differs from run to run
	count  int
	done   context.CancelFunc

	lock     sync.Mutex
	settled  map[types.NamespacedName]struct{}
	calls    int
	writes   int
	firstCPU float64
	first    time.Time
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	r.begin()
	if r.task == "empty" {
		r.settle(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(widget)
	if err := r.client.Get(ctx, request.NamespacedName, obj); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	status, _ := obj.Object["status"].(map[string]any)
	if r.task == "write" && status["value"] != r.value {
		// The request that the other side sends, too: a merge patch with the resourceVersion.
		patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"status":{"value":%q}}`, obj.GetResourceVersion(), r.value)
		err := r.client.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("bench"))
		if err == nil {
			r.lock.Lock()
			r.writes++
			r.lock.Unlock()
		}
		return reconcile.Result{}, err
	}
	if spec, _ := obj.Object["spec"].(map[string]any); spec["replicas"] == nil {
		return reconcile.Result{}, fmt.Errorf("%s has no spec", request)
	}
	r.settle(request.NamespacedName)
	return reconcile.Result{}, nil
}

func (r *reconciler) begin() {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.calls == 0 {
		r.firstCPU, r.first = cpu(), time.Now()
	}
	r.calls++
}

func (r *reconciler) settle(key types.NamespacedName) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.settled[key] = struct{}{}
	if len(r.settled) == r.count {
		r.done()
	}
}

func main() {
	task := flag.String("task", "read", "empty, read, write or queue")
	count := flag.Int("objects", 20000, "how many objects the server has")
	concurrency := flag.Int("concurrency", 8, "reconciles at a time")
	flag.Parse() // -kubeconfig is controller-runtime's own
	ctrl.SetLogger(logr.Discard())
	if *task == "queue" {
		check(json.NewEncoder(os.Stdout).Encode(queue(*count)))
		return
	}
	config, err := ctrl.GetConfig()
	check(err)
	config.QPS = -1 // by default 20 a second, with bursts of 30

	before, beganCPU, began := memory("VmRSS"), cpu(), time.Now()
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics: server.Options{BindAddress: "0"},
	})
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	all := make(chan struct{})
	r := &reconciler{client: manager.GetClient(), task: *task, value: strconv.FormatInt(time.Now().UnixNano(), 10), count: *count,
		settled: map[types.NamespacedName]struct{}{}, done: sync.OnceFunc(func() { close(all) })}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(widget)
	check(ctrl.NewControllerManagedBy(manager).Named("bench").For(obj).
		WithOptions(controller.Options{MaxConcurrentReconciles: *concurrency}).Complete(r))
	go func() { check(manager.Start(ctx)) }()
	select {
	case <-all:
	case <-ctx.Done():
		log.Fatalf("not all objects were reconciled in time: %d", len(r.settled))
	}
	endCPU, end := cpu(), time.Now()
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.task == "write" && r.writes != r.count {
		log.Fatalf("%d writes for %d objects", r.writes, r.count)
	}
	out := map[string]any{
		"cpu_s": endCPU - beganCPU, "wall_s": end.Sub(began).Seconds(), "peak_mb": memory("VmHWM"),
		"reconciles": r.calls, "writes": r.writes,
		"reconciling_cpu_s": endCPU - r.firstCPU, "reconciling_wall_s": end.Sub(r.first).Seconds(),
		"reconcile_us":   (endCPU - r.firstCPU) / float64(r.calls) * 1e6,
		"keys_per_cpu_s": float64(r.count) / (endCPU - r.firstCPU),
		"keys_per_s":     float64(r.count) / end.Sub(r.first).Seconds(),
	}
	// What the live objects need, once the garbage of the list is gone and given back to the system.
	runtime.GC()
	debug.FreeOSMemory()
	out["held_mb"] = memory("VmRSS") - before
	out["bytes_per_object"] = (memory("VmRSS") - before) * (1 << 20) / float64(*count)
	runtime.KeepAlive(manager)
	check(json.NewEncoder(os.Stdout).Encode(out))
}

// queue is the CPU, in microseconds per key, of adding keys to a queue, of adding them again, and of taking them.
func queue(count int) map[string]float64 {
	keys := make([]reconcile.Request, count)
	for i := range keys {
		keys[i].NamespacedName = types.NamespacedName{Namespace: fmt.Sprintf("ns-%02d", i%50), Name: fmt.Sprintf("widget-%06d", i)}
	}
	queue := priorityqueue.New[reconcile.Request]("bench")
	each := func(did float64) float64 { return did / float64(count) * 1e6 }
	began := cpu()
	for _, key := range keys {
		queue.Add(key)
	}
	for queue.Len() < count { // another goroutine moves added keys into the tree
		runtime.Gosched()
	}
	added := cpu()
	for _, key := range keys {
		queue.Add(key)
	}
	queue.Len() // flushes what was added
	again := cpu()
	for range keys {
		key, _ := queue.Get()
		queue.Done(key)
	}
	return map[string]float64{"add_us": each(added - began), "add_again_us": each(again - added), "get_done_us": each(cpu() - again)}
}

// cpu is user and system seconds of this process.
func cpu() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

// memory is a field of /proc/self/status in MiB: VmRSS (now) or VmHWM (peak).
func memory(field string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	check(err)
	for _, line := range strings.Split(string(status), "\n") {
		if parts := strings.Fields(line); len(parts) > 1 && parts[0] == field+":" {
			kib, err := strconv.ParseFloat(parts[1], 64)
			check(err)
			return kib / 1024
		}
	}
	return 0
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
