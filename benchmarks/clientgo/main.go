// Command clientgo is the other side of the comparison: client-go's dynamic shared informer on the byte server of
// ../byteserver.py, with one handler and one index, like the dynkube side.
//
//	clientgo -url http://127.0.0.1:8001 -mode list|stream [-objects 20000] [-keep-managed-fields=false] [-metadata]
//	clientgo -kubeconfig FILE -mode list|stream [-objects 20000]
//	clientgo -url http://127.0.0.1:8001 -mode events -events 20000 -objects 1000
//	clientgo -url http://127.0.0.1:8001 -mode latency -events 20000 -objects 5000
//
// With -metadata it is client-go's metadata informer, with JSON, as the byte server has no protobuf.
//
// It prints one JSON object: CPU seconds (user and system, from just before the client is made until the handler has
// seen everything), wall seconds, resident memory. Mode latency also prints the nanoseconds of each event from the time
// in its annotation example.com/sent until the handler gets it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var widgets = schema.GroupVersionResource{Group: "bench.example.com", Version: "v1", Resource: "widgets"}

// gates says yes to the streaming list only where it is asked for; all other gates keep their defaults.
type gates struct {
	features.Gates
	streaming bool
}

func (g gates) Enabled(key features.Feature) bool {
	if key == features.WatchListClient {
		return g.streaming
	}
	return g.Gates.Enabled(key)
}

// counter is the handler: it touches what it is given, and tells when it has seen enough.
type counter struct {
	updates  atomic.Int64
	expected int64
	first    atomic.Int64 // nanoseconds of CPU when the first update came
	latency  []int64      // nanoseconds, of objects that say when they were sent
	done     chan struct{}
}

func (c *counter) OnAdd(obj any, _ bool) { _ = obj.(metav1.Object).GetName() }
func (c *counter) OnDelete(any)          {}
func (c *counter) OnUpdate(_, obj any) {
	_ = obj.(metav1.Object).GetName()
	if c.latency != nil {
		sent, _, _ := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, "metadata", "annotations", "example.com/sent")
		at, err := strconv.ParseInt(sent, 10, 64)
		check(err)
		c.latency = append(c.latency, time.Now().UnixNano()-at)
	}
	switch c.updates.Add(1) {
	case 1:
		c.first.Store(int64(cpu() * 1e9))
	case c.expected:
		close(c.done)
	}
}

func byTier(obj any) ([]string, error) {
	return []string{obj.(metav1.Object).GetLabels()["tier"]}, nil
}

func withoutManagedFields(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func main() {
	url := flag.String("url", "", "where the byte server is")
	kubeconfig := flag.String("kubeconfig", "", "a kubeconfig, instead of -url")
	mode := flag.String("mode", "list", "list, stream, events or latency")
	objects := flag.Int("objects", 20000, "how many objects the server has")
	events := flag.Int64("events", 20000, "how many events the server sends (modes events and latency)")
	keep := flag.Bool("keep-managed-fields", false, "no transform that drops metadata.managedFields")
	onlyMetadata := flag.Bool("metadata", false, "the metadata informer")
	flag.Parse()
	features.ReplaceFeatureGates(gates{features.FeatureGates(), *mode == "stream"})

	before, beganCPU, began := memory("VmRSS"), cpu(), time.Now()
	config := &rest.Config{Host: *url}
	if *kubeconfig != "" {
		var err error
		config, err = clientcmd.BuildConfigFromFlags("", *kubeconfig)
		check(err)
	}
	config.QPS = -1
	factory := newFactory(config, *onlyMetadata)
	informer := factory.ForResource(widgets).Informer()
	if !*keep {
		check(informer.SetTransform(withoutManagedFields))
	}
	check(informer.AddIndexers(cache.Indexers{"tier": byTier}))
	handler := &counter{expected: *events, done: make(chan struct{})}
	if *mode == "latency" {
		handler.latency = make([]int64, 0, *events)
	}
	registration, err := informer.AddEventHandler(handler)
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced, registration.HasSynced) {
		log.Fatal("not synced in time")
	}
	out := map[string]any{"client": "client-go", "mode": *mode, "objects": len(informer.GetStore().ListKeys())}
	if got := out["objects"].(int); got != *objects {
		log.Fatalf("synced %d objects, expected %d", got, *objects)
	}
	if *mode == "events" || *mode == "latency" {
		select {
		case <-handler.done:
		case <-ctx.Done():
			log.Fatalf("only %d events came", handler.updates.Load())
		}
		used := cpu() - float64(handler.first.Load())/1e9
		out["events"] = *events
		out["events_cpu_s"] = used
		out["events_per_cpu_s"] = float64(*events-1) / used
		out["latency_ns"] = handler.latency
	}
	out["cpu_s"], out["wall_s"] = cpu()-beganCPU, time.Since(began).Seconds()
	out["peak_mb"] = memory("VmHWM")
	out["rss_before_mb"] = before
	out["rss_mb"] = memory("VmRSS")
	// What the live objects need, once the garbage of the list is gone and given back to the system.
	runtime.GC()
	debug.FreeOSMemory()
	out["held_mb"] = memory("VmRSS") - before
	out["bytes_per_object"] = (memory("VmRSS") - before) * (1 << 20) / float64(*objects)
	runtime.KeepAlive(informer)
	check(json.NewEncoder(os.Stdout).Encode(out))
}

// factory is what both kinds of informer factories have.
type factory interface {
	ForResource(schema.GroupVersionResource) informers.GenericInformer
	Start(<-chan struct{})
}

func newFactory(config *rest.Config, onlyMetadata bool) factory {
	if onlyMetadata {
		config.ContentType = "application/json"
		client, err := metadata.NewForConfig(config)
		check(err)
		return metadatainformer.NewSharedInformerFactory(client, 0)
	}
	client, err := dynamic.NewForConfig(config)
	check(err)
	return dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
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
