// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev_test

import (
	"context"
	"crypto/aes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/api/apitesting"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/cacher/consistency"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value"
	aestransformer "k8s.io/apiserver/pkg/storage/value/encrypt/aes"
	"k8s.io/utils/clock"

	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

var codec = func() runtime.Codec {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
	return apitesting.TestCodec(serializer.NewCodecFactory(scheme), examplev1.SchemeGroupVersion)
}()

// encryption returns a transformer like those of an encryption configuration: bound to the key, with a prefix.
var encryption = func() value.Transformer {
	gcm := store.Must(aestransformer.NewGCMTransformer(store.Must(aes.NewCipher([]byte("0123456789abcdef")))))
	return value.NewPrefixTransformers(nil, value.PrefixTransformer{Prefix: []byte("k8s:enc:aesgcm:v1:k:"), Transformer: gcm})
}()

type server struct {
	raw    storage.Interface
	cached *cacher.CacheDelegator
	cacher *cacher.Cacher
}

func newPod() runtime.Object     { return &example.Pod{} }
func newPodList() runtime.Object { return &example.PodList{} }

func skipAttributes(runtime.Object) (labels.Set, fields.Set, error) { return nil, nil, nil }

// startServer starts a server over package subrev.
func (w *world) startServer() *server {
	versioner, resource := storage.APIObjectVersioner{}, schema.GroupResource{Resource: "pods"}
	inner := etcd3.NewCompactor(w.connectRaw().Client, 0, clock.RealClock{}, nil)
	w.t.Cleanup(inner.Stop)
	raw := must.Get(etcd3.New(w.connectWrapped(), subrev.Compactor(inner), codec, newPod, newPodList, w.root, "/pods/", resource, encryption,
		etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(codec, versioner), versioner))(w.t)
	w.t.Cleanup(raw.Close)
	c := must.Get(cacher.NewCacherFromConfig(cacher.Config{Storage: raw, Versioner: versioner, GroupResource: resource,
		EventsHistoryWindow: cacher.DefaultEventFreshDuration, ResourcePrefix: "/pods/", KeyFunc: func(o runtime.Object) (string, error) {
			return storage.NamespaceKeyFunc("/pods/", o)
		},
		GetAttrsFunc: skipAttributes, NewFunc: newPod, NewListFunc: newPodList, Codec: codec, Clock: w.clock}))(w.t)
	d := cacher.NewCacheDelegator(c, raw)
	out := &server{raw, d, c}
	w.t.Cleanup(func() { w.awaitDispatch(out); d.Stop(); c.Stop() })
	store.Eventually(w.t, "the watch cache is ready", func() bool { return d.ReadinessCheck() == nil })
	return out
}

// awaitDispatch writes a pod, and waits until the watch cache has sent the event to a watcher, so that no earlier event
// waits in the cache. Cacher.Stop ends the reader of the channel before the reflector, which writes to the channel: if
// the channel is full at that moment, Stop hangs.
func (w *world) awaitDispatch(s *server) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		in, err := s.cached.Watch(ctx, "/pods/end/", makeOptions(int64(store.Must(s.raw.GetCurrentResourceVersion(ctx)))))
		if err != nil {
			w.t.Error(err)
			return
		}
		store.Must(w.client.KV.Put(ctx, w.keyOf("pods", "end/pod"), w.encodePod("end/pod", "x")))
		_, ok := <-in.ResultChan()
		if in.Stop(); ok {
			return
		}
	}
	w.t.Error("the watch cache does not send its last event within 5 minutes")
}

func (w *world) encodePod(name, data string) string {
	namespace, rest, _ := strings.Cut(name, "/")
	pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: rest, Annotations: map[string]string{"data": data}}}
	return string(store.Must(encryption.TransformToStorage(context.Background(), store.Must(runtime.Encode(codec, pod)),
		value.DefaultContext(w.keyOf("pods", name)))))
}

// writePods writes the values as the data of pods, and adds them to the history.
func (w *world) writePods(writes ...write) (header int64) {
	w.t.Helper()
	data := make([]string, len(writes))
	for i, one := range writes {
		if data[i] = one.value; one.value != "" && one.resource == "pods" {
			writes[i].value = w.encodePod(one.name, one.value)
		}
	}
	header = w.commitWrites(writes...)
	for i := range data {
		w.history[len(w.history)-len(data)+i].value = data[i]
	}
	return header
}

func makeBatch(name string, n int, data string) (out []write) {
	for i := range n {
		out = append(out, write{resource: "pods", name: fmt.Sprintf("ns%d/%s-%03d", i%3, name, i), value: data})
	}
	return out
}

func uncacheObject(o runtime.Object) runtime.Object {
	if c, ok := o.(runtime.CacheableObject); ok {
		return c.GetObject()
	}
	return o
}

func versionOf(o runtime.Object) int64 {
	return int64(store.Must(storage.APIObjectVersioner{}.ObjectResourceVersion(uncacheObject(o))))
}

func makeOptions(version int64) storage.ListOptions {
	o := storage.ListOptions{Recursive: true, Predicate: storage.Everything}
	if version > 0 {
		o.ResourceVersion = strconv.FormatInt(version, 10)
	}
	return o
}

func eventText(e watch.Event) string {
	pod, ok := uncacheObject(e.Object).(*example.Pod)
	if !ok {
		return fmt.Sprint(e.Object)
	}
	one := write{"pods", pod.Namespace + "/" + pod.Name, pod.Annotations["data"], versionOf(pod)}
	if e.Type == watch.Deleted {
		one.value = ""
	}
	return one.String()
}

// listenTo returns n events after a version, or fewer and the error. It resumes a watcher that the cache has closed,
// like an informer, and returns an error after many attempts without an event.
func listenTo(s storage.Interface, key string, version int64, n int) (out []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for closed := 0; ; {
		before := version
		in, err := s.Watch(ctx, key, makeOptions(version))
		if err != nil {
			return append(out, err.Error())
		}
		for e := range in.ResultChan() {
			if out = append(out, eventText(e)); len(out) >= n {
				in.Stop()
				return out
			}
			if e.Type == watch.Error {
				break
			}
			version = versionOf(e.Object)
		}
		if in.Stop(); version > before {
			closed = 0
		} else if closed++; closed > 50 || ctx.Err() != nil {
			return append(out, "closed")
		}
	}
}

func listPods(s storage.Interface, key string, o storage.ListOptions) (map[string]string, *example.PodList, error) {
	o.Recursive, o.Predicate.GetAttrs = true, skipAttributes
	o.Predicate.Label, o.Predicate.Field = labels.Everything(), fields.Everything()
	l, out := &example.PodList{}, map[string]string{}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	err := s.GetList(ctx, key, o, l)
	for _, p := range l.Items {
		out[p.Namespace+"/"+p.Name] = p.Annotations["data"] + "@" + p.ResourceVersion
	}
	return out, l, err
}

// At the version of an answer, a read and a later watch must contain the whole transaction. A watch cache over etcd's
// revisions guarantees neither.
func TestCache_isNotTorn(t *testing.T) {
	const watchers, lists, initial, n = 24, 4, 4, 40
	w := newWorld(t)
	s, writer := w.startServer(), rand.New(rand.NewPCG(1, 7))
	rounds := 6
	if rig.Long() {
		rounds = 60
	}
	var closed atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	progress := w.startInformer(ctx, s)
	for round := range rounds {
		name := fmt.Sprintf("r%d", round)
		before := int64(store.Must(s.raw.GetCurrentResourceVersion(ctx)))
		var group sync.WaitGroup
		begin, answer := make(chan struct{}), make(chan int64)
		for i := range watchers + initial {
			delay := time.Duration(writer.Int64N(int64(6 * time.Millisecond)))
			group.Go(func() {
				<-begin
				time.Sleep(delay) // at any moment of the transaction
				o := makeOptions(before)
				if i >= watchers { // the first request of an informer
					o = makeOptions(0)
					o.SendInitialEvents, o.Predicate.AllowWatchBookmarks = new(true), true
				}
				limit, cancel := context.WithTimeout(ctx, 5*time.Minute)
				defer cancel()
				if got, err := followPods(limit, s.cached, o, "/"+name+"-", n, &closed, func() {}); got < n {
					t.Errorf("round %d: watcher %d has %d of %d: %v", round, i, got, n, err)
				}
			})
		}
		for range lists {
			group.Go(func() {
				version := <-answer
				got, _, err := listPods(s.cached, "/pods/", storage.ListOptions{ResourceVersion: strconv.FormatInt(version, 10)})
				have := 0
				for key := range got {
					if strings.Contains(key, "/"+name+"-") {
						have++
					}
				}
				if err != nil || have < n {
					t.Errorf("round %d: a list at the answer's version has %d of %d: %v", round, have, n, err)
				}
			})
		}
		close(begin)
		header := w.writePods(makeBatch(name, n, "x")...)
		for range lists {
			answer <- header
		}
		group.Wait()
	}
	store.Eventually(t, "the watch that is told progress has all", func() bool { return progress.events.Load() == int64(rounds*n) })
	if progress.disorder.Load() > 0 || progress.bookmarks.Load() == 0 {
		t.Errorf("%d events not above what came before or a bookmark, %d bookmarks", progress.disorder.Load(), progress.bookmarks.Load())
	}
	t.Logf("%d watchers, %d of them closed by the cache, %d bookmarks", rounds*(watchers+initial), closed.Load(), progress.bookmarks.Load())
}

// followPods counts the pods of a name like an informer, and resumes a closed or refused watch after the last event. It
// calls begun when the first watch begins. If ctx ends, the error is that of the last watch.
func followPods(ctx context.Context, s storage.Interface, o storage.ListOptions, name string, n int, closed *atomic.Int64,
	begun func()) (_ int, err error) {
	got := map[string]bool{}
	for ctx.Err() == nil {
		var in watch.Interface
		if in, err = s.Watch(ctx, "/pods/", o); err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		begun()
		for e := range in.ResultChan() {
			pod, ok := uncacheObject(e.Object).(*example.Pod)
			if !ok {
				err = apierrors.FromObject(e.Object)
				break
			}
			if o.SendInitialEvents == nil || pod.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
				o.ResourceVersion, o.SendInitialEvents = pod.ResourceVersion, nil
			}
			if strings.HasPrefix(pod.Name, name[1:]) {
				got[pod.Name] = true
			}
			if len(got) == n {
				in.Stop()
				return n, nil
			}
		}
		in.Stop()
		if ctx.Err() == nil {
			closed.Add(1)
		}
	}
	return len(got), err
}

// informed counts the events of a watch of etcd that constantly requests progress.
type informed struct{ events, bookmarks, disorder atomic.Int64 }

func (w *world) startInformer(ctx context.Context, s *server) *informed {
	out := &informed{}
	o := makeOptions(int64(store.Must(s.raw.GetCurrentResourceVersion(ctx))))
	o.ProgressNotify = true
	in := store.Must(s.raw.Watch(ctx, "/pods/", o))
	go func() {
		last := int64(0)
		for e := range in.ResultChan() {
			version := versionOf(e.Object)
			if e.Type == watch.Bookmark {
				out.bookmarks.Add(1)
				last = max(last, version)
				continue
			}
			if out.events.Add(1); version <= last {
				out.disorder.Add(1)
			}
			last = version
		}
	}()
	go func() {
		for ctx.Err() == nil {
			_ = s.raw.RequestWatchProgress(ctx)
			time.Sleep(500 * time.Microsecond)
		}
	}()
	return out
}

// Watches resume after each version, and lists are exact, in etcd and in the cache, for this server and another.
func TestCache_resumesAndListsAtEachVersion(t *testing.T) { newWorld(t).resumesAndLists() }

// Watches also resume, and lists are whole, with an etcd before 3.7, which does not stream reads: when etcd refuses the
// stream, the storage reads in pages.
func TestCache_resumesAndListsWithoutStreams(t *testing.T) {
	var refused atomic.Int64
	etcd := store.Fresh(t)
	w := worldOn(t, func() (*kubernetes.Client, error) {
		return kubernetes.New(clientv3.Config{Endpoints: []string{etcd.Endpoint}, DialTimeout: 30 * time.Second, Logger: zap.NewNop(),
			DialOptions: []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithChainStreamInterceptor(
				func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, begin grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
					if method == "/etcdserverpb.KV/RangeStream" {
						refused.Add(1)
						method = "/etcdserverpb.KV/NotThere" // a method that the server refuses itself
					}
					return begin(ctx, d, c, method, o...)
				})}})
	})
	if w.resumesAndLists(); refused.Load() == 0 {
		t.Error("storage asked for no stream")
	}
}

func (w *world) resumesAndLists() {
	t := w.t
	one, two := w.startServer(), w.startServer()
	random := rand.New(rand.NewPCG(5, 5))
	before := int64(store.Must(one.raw.GetCurrentResourceVersion(t.Context())))
	w.writePods(makeBatch("old", 12, "x")...)
	for range countTransactions() {
		w.writePods(w.mixWrites(random, 15)...)
	}
	header := w.writePods(w.mixWrites(random, 15)...)
	checks := 0
	all := crowd{at: make(chan struct{}, 32)}
	for what, s := range map[string]storage.Interface{"etcd": one.raw, "the cache": one.cached, "another server's etcd": two.raw, "another server's cache": two.cached} {
		for i, version := range w.listVersions("pods") {
			if version < before || version >= header || testing.Short() && (int(version)+len(what))%5 > 0 {
				continue
			}
			for _, name := range []string{"", "ns1/"} {
				want := w.listWritesAfter("pods", name, version)
				if len(want) == 0 {
					continue
				}
				checks++
				all.Go(func() {
					if got := listenTo(s, "/pods/"+name, version, len(want)); !slices.Equal(got, want) {
						t.Errorf("%s: watch of %q after %d:\n%q\nnot\n%q", what, name, version, got, want)
					}
				})
			}
			if i%4 == 0 || len(w.computeState("pods", version)) == 0 {
				continue
			}
			checks++
			all.Go(func() {
				text := strconv.FormatInt(version, 10)
				want := w.computeState("pods", version)
				got, l, err := listPods(s, "/pods/", storage.ListOptions{ResourceVersion: text,
					ResourceVersionMatch: metav1.ResourceVersionMatchExact})
				if err != nil || l.ResourceVersion != text || !maps.Equal(got, want) {
					t.Errorf("%s: list at %s is at %s: %v\n%v\nnot\n%v", what, text, l.ResourceVersion, err, got, want)
				}
				// Further pages come from etcd, as after an eviction from the cache.
				o := storage.ListOptions{ResourceVersion: text, ResourceVersionMatch: metav1.ResourceVersionMatchExact, Predicate: storage.SelectionPredicate{Limit: 4}}
				pages, l, err := listPods(s, "/pods/", o)
				for err == nil && l.Continue != "" {
					var page map[string]string
					page, l, err = listPods(one.raw, "/pods/", storage.ListOptions{Predicate: storage.SelectionPredicate{Limit: 4,
						Continue: l.Continue}})
					maps.Copy(pages, page)
				}
				if err != nil || !maps.Equal(pages, want) {
					t.Errorf("%s: pages at %s: %v\n%v\nnot\n%v", what, text, err, pages, want)
				}
			})
		}
	}
	all.Wait()
	t.Logf("%d watches and lists", checks)
	if checks < 100 {
		t.Error("there are more versions to check")
	}
}

// Kubernetes regularly compares a watch cache with a list from etcd at the cache's version. The two must be equal even
// while the cache is in the middle of a transaction and holds only some objects of a revision.
func TestCache_isConsistentInTheMiddleOfARevision(t *testing.T) {
	w := newWorld(t)
	s := w.startServer()
	checker := consistency.NewChecker("/pods/", schema.GroupResource{Resource: "pods"}, newPodList, s.cacher, s.raw)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			w.writePods(makeBatch(fmt.Sprint("r", i%5), 100, fmt.Sprint(i))...)
		}
	})
	defer writer.Wait()
	defer cancel()
	inside, until := 0, time.Now().Add(5*time.Minute)
	for checks := 0; inside < 5 || checks < 20; checks++ {
		d, err := checker.CalculateDigests(ctx)
		if err != nil || d.CacheDigest != d.EtcdDigest {
			t.Fatalf("check %d: %v %+v", checks, err, d)
		}
		if _, sub := subrev.Split(store.Must(strconv.ParseInt(d.ResourceVersion, 10, 64))); sub != subrev.Last {
			inside++
		}
		if time.Now().After(until) {
			t.Fatalf("of %d checks %d were in the middle of a revision", checks, inside)
		}
	}
}

// fast is a clock that advances by a minute each second.
type fast struct {
	clock.RealClock
	begun time.Time
}

func (f fast) Now() time.Time { return f.begun.Add(60 * time.Since(f.begun)) }

func (f fast) Since(t time.Time) time.Duration { return f.Now().Sub(t) }

// A bookmark tells a watcher that all earlier events have been sent. The watch cache sends a bookmark every minute, and
// another two seconds before the request ends. None may come before an event of an earlier version.
func TestCache_bookmarksWhatHasCome(t *testing.T) {
	for what, every := range map[string]bool{"every minute": true, "before the end": false} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			if every {
				w.clock = fast{begun: time.Now()}
			}
			w.checkBookmarks(every)
		})
	}
}

func (w *world) checkBookmarks(every bool) {
	t, s := w.t, w.startServer()
	requests, each, timeout := 12, 3, 30*time.Second
	if rig.Long() {
		requests, each, timeout = 100, 10, 5*time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	before := int64(store.Must(s.raw.GetCurrentResourceVersion(ctx)))
	var watchers, writer sync.WaitGroup
	type watched struct {
		events    []int64
		bookmarks []int64
		at        []int // number of events before each bookmark
	}
	all := make([]watched, requests)
	for i := range all {
		timeout := 2500*time.Millisecond + time.Duration(i%20)*50*time.Millisecond
		watchers.Go(func() {
			limit, cancel := context.WithTimeout(ctx, timeout)
			if every { // the request has no end
				limit, cancel = context.WithCancel(context.WithoutCancel(ctx))
				defer context.AfterFunc(ctx, cancel)()
			}
			defer cancel()
			one := &all[i]
			for from := before; limit.Err() == nil; { // resume a closed watch
				o := makeOptions(from)
				o.Predicate.AllowWatchBookmarks = true
				in, err := s.cached.Watch(limit, "/pods/", o)
				if err != nil {
					return
				}
				for e := range in.ResultChan() {
					if from = versionOf(e.Object); e.Type != watch.Bookmark {
						one.events = append(one.events, from)
						continue
					}
					if one.bookmarks, one.at = append(one.bookmarks, from), append(one.at, len(one.events)); every && len(one.at) >= each {
						in.Stop()
						return
					}
				}
				in.Stop()
			}
		})
	}
	done := make(chan struct{})
	writer.Go(func() {
		objects, pace := 20, time.Nanosecond
		if every { // a slow watcher gets none of these
			objects, pace = 100, 20*time.Millisecond
		}
		rate := time.NewTicker(pace)
		defer rate.Stop()
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-rate.C:
				w.writePods(makeBatch(fmt.Sprint("r", i%5), objects, fmt.Sprint(i))...)
			}
		}
	})
	watchers.Wait()
	close(done)
	writer.Wait()
	var versions []int64
	for _, one := range w.history {
		versions = append(versions, one.version)
	}
	slices.Sort(versions)
	bookmarks, inside := 0, 0
	for i, one := range all {
		if !slices.Equal(one.events, versions[:len(one.events)]) {
			t.Errorf("watcher %d: its %d events are not the first ones", i, len(one.events))
		}
		bookmarks += len(one.bookmarks)
		for n, bookmark := range one.bookmarks {
			if _, sub := subrev.Split(bookmark); sub != subrev.Last {
				inside++
			}
			if covered, _ := slices.BinarySearch(versions, bookmark+1); one.at[n] < covered {
				t.Errorf("watcher %d: bookmark %d covers %d events, %d came before it", i, bookmark, covered, one.at[n])
			}
		}
	}
	t.Logf("%d bookmarks, %d of them inside a revision, to %d watchers, %d events", bookmarks, inside, requests, len(versions))
	if bookmarks == 0 {
		t.Error("there was no bookmark")
	}
}

// A write by another program either ends the cache's watch, or is numbered (guarantee 6 of the package).
func TestCache_agreesAfterWhatOthersWrote(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	s, plain := w.startServer(), w.connectRaw()
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"a lone put", func() { store.Must(plain.KV.Put(ctx, w.keyOf("pods", "ns/ctl"), w.encodePod("ns/ctl", "x"))) }},
		{"two puts without numbers", func() {
			put := func(name string) clientv3.Op { return clientv3.OpPut(w.keyOf("pods", name), w.encodePod(name, "x")) }
			store.Must(plain.Txn(ctx).Then(put("ns/u1"), put("ns/u2")).Commit())
		}},
		{"300 deletions", func() {
			for i := range 3 {
				w.writePods(makeBatch(fmt.Sprint("many", i), 100, "x")...)
			}
			store.Must(plain.KV.Delete(ctx, w.prefixOf("pods"), clientv3.WithPrefix()))
			w.history = nil
		}},
		{"a transaction of its own again", func() { w.writePods(makeBatch("again", 40, "x")...) }},
	} {
		step.do()
		store.Eventually(t, "the cache agrees after "+step.what, func() bool {
			etcd, _, err1 := listPods(s.raw, "/pods/", storage.ListOptions{})
			cached, _, err2 := listPods(s.cached, "/pods/", storage.ListOptions{ResourceVersion: "0"})
			return err1 == nil && err2 == nil && maps.Equal(etcd, cached)
		})
	}
	if got, _, _ := listPods(s.cached, "/pods/", storage.ListOptions{}); len(got) != 40 {
		t.Errorf("%d pods", len(got))
	}
}

// A watch cache closes watchers that get too many events at once, and their informers then list again. The pause
// between the parts of a transaction prevents this. Without it the cache closes hundreds of watchers here. With it the
// test requires that in one of up to twenty attempts the cache closes none.
func TestCache_closesNoInformerByTransactions(t *testing.T) {
	if testing.Short() {
		t.Skip("it looks at time, which the race detector takes")
	}
	w := newWorld(t)
	s := w.startServer()
	for attempt := range 20 {
		if w.runBurst(s, fmt.Sprintf("burst%02d", attempt), 24, 40, 20) == 0 {
			return
		}
	}
	t.Error("each time watchers were closed")
}

// runBurst writes transactions back to back, while watchers follow like informers. It counts the watches that the cache
// closes.
func (w *world) runBurst(s *server, name string, watchers, objects, rounds int) int64 {
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	o := makeOptions(int64(store.Must(s.raw.GetCurrentResourceVersion(ctx))))
	var closed, torn atomic.Int64
	var all, begun sync.WaitGroup
	for range watchers {
		begun.Add(1)
		all.Go(func() {
			got, err := followPods(ctx, s.cached, o, "/"+name+"-", objects*rounds, &closed, sync.OnceFunc(begun.Done))
			if got < objects*rounds {
				w.t.Logf("a watcher has %d of %d: %v", got, objects*rounds, err)
				torn.Add(1)
			}
		})
	}
	begun.Wait()
	for round := range rounds {
		header := w.writePods(makeBatch(fmt.Sprintf("%s-%04d", name, round), objects, "x")...)
		if _, _, err := listPods(s.cached, "/pods/none/", makeOptions(header)); err != nil {
			w.t.Error(err)
		}
	}
	all.Wait()
	if torn.Load() > 0 {
		w.t.Errorf("%d of %d watchers are torn", torn.Load(), watchers)
	}
	return closed.Load()
}
