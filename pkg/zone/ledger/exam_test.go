// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/api/apitesting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/utils/clock"

	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// The storage suites of Kubernetes, in k8s.io/apiserver/pkg/storage/testing, test the ledger's storage:
//
//  1. The ledger's storage (ObjectStorage) over etcd3's store and zone/ledger/subrev, where objects share a revision,
//     keeps every promise of storage.Interface, also under the watch cache, although each write is a transaction of
//     two keys. The suites write example Pods. Their transaction counts the Pods in a second key, and the count must be
//     right in the end.
//  2. The storages of Zones and Records keep the promises to writers (decorators_test.go).
//
// The suites of unsafe deletion of malformed objects (DeleteExpectedTransform…, GetListWithErrorAggregation,
// WatchWithUnsafeDelete) are not run. Our server turns this feature off, because the deletion of an unread record would
// leave the record's data in the zone. KeySchema is not run, because the ledger writes to the key of the object.
// Nor are WatchDispatchBookmarkEvents, which waits minutes for timers of the cache, and OptionalWatchBookmarks, which
// gives the cache three seconds. Suites that Kubernetes runs only on the raw store run only there.
var (
	scheme = runtime.NewScheme()
	codecs = serializer.NewCodecFactory(scheme)
)

func init() {
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
}

// pods writes Pods like the ledger writes Records. The same transaction writes a companion key, which counts the
// namespace's pods.
type pods struct {
	storage.Interface // the ledger's
	raw               storage.Interface
	codec             objects.ObjectCodec
	client            *clientv3.Client
	root              string
	queue             sync.Map    // namespace → *sync.Mutex: writers of a companion queue, like those of a zone
	leased            atomic.Bool // a pod was written with a lease, and will expire
	last              bool        // the companion is an object of the pod's resource, before the pod in the transaction
}

type podKey struct{} // of a context: the key of the Pod

func (p *pods) makeCompanion(key string) string {
	rest := strings.TrimPrefix(key, p.root+"/pods/")
	namespace, _, _ := strings.Cut(rest, "/")
	return p.root + "/companions/" + namespace
}

// commit writes a pod and its companion in one transaction. A conflict at the companion is retried. The storage
// resolves a conflict at the pod.
func (p *pods) commit(ctx context.Context, _, after *example.Pod, expected int64) (ok bool, rev int64, err error) {
	key := p.root + ctx.Value(podKey{}).(string)
	companion := p.makeCompanion(key)
	mu, _ := p.queue.LoadOrStore(companion, &sync.Mutex{})
	mu.(*sync.Mutex).Lock()
	defer mu.(*sync.Mutex).Unlock()
	delta := 0
	op := clientv3.OpDelete(key)
	if after != nil {
		data, err := p.codec.Encode(ctx, key, after)
		if err != nil {
			return false, 0, err
		}
		op = clientv3.OpPut(key, string(data))
	}
	switch {
	case expected == 0:
		delta = 1
	case after == nil:
		delta = -1
	}
	count, at := 0, int64(0)
	own := 0
	if p.last {
		own = 1
	}
	for {
		ops := []clientv3.Op{op, clientv3.OpPut(companion, strconv.Itoa(count+delta))}
		if p.last {
			slices.Reverse(ops)
		}
		r, err := p.client.Txn(ctx).If(
			clientv3.Compare(clientv3.ModRevision(key), "=", expected),
			clientv3.Compare(clientv3.ModRevision(companion), "=", at),
		).Then(ops...).Else(clientv3.OpGet(key), clientv3.OpGet(companion)).Commit()
		if err != nil {
			return false, 0, err
		}
		if r.Succeeded {
			answer := r.Responses[own]
			if answer.GetResponsePut() != nil {
				return true, answer.GetResponsePut().Header.Revision, nil
			}
			return true, answer.GetResponseDeleteRange().Header.Revision, nil
		}
		count, at = 0, 0
		if kvs := r.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
			at = kvs[0].ModRevision
			if count, err = strconv.Atoi(string(kvs[0].Value)); err != nil {
				return false, 0, err
			}
		}
		var revision int64
		if kvs := r.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			revision = kvs[0].ModRevision
		}
		if revision != expected {
			return false, r.Header.Revision, nil
		}
	}
}

func (p *pods) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if ttl != 0 { // the ledger refuses leases, the suites need them
		p.leased.Store(true)
		return p.raw.Create(ctx, key, obj, out, ttl)
	}
	return p.Interface.Create(context.WithValue(ctx, podKey{}, key), key, obj, out, ttl)
}

func (p *pods) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	return p.Interface.Delete(context.WithValue(ctx, podKey{}, key), key, out, preconditions, validate, cached, opts)
}

func (p *pods) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object) error {
	lease := false
	try := func(in runtime.Object, meta storage.ResponseMeta) (runtime.Object, *uint64, error) {
		out, ttl, err := update(in, meta)
		lease = ttl != nil && *ttl != 0
		return out, ttl, err
	}
	err := p.Interface.GuaranteedUpdate(context.WithValue(ctx, podKey{}, key), key, destination, ignoreNotFound, preconditions, try, cached)
	if lease && err != nil {
		p.leased.Store(true)
		return p.raw.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, update, cached)
	}
	return err
}

type exchanged struct {
	mu sync.RWMutex
	t  value.Transformer
}

func (x *exchanged) now() value.Transformer {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.t
}

func (x *exchanged) set(t value.Transformer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.t = t
}

func (x *exchanged) TransformFromStorage(ctx context.Context, data []byte, about value.Context) ([]byte, bool, error) {
	return x.now().TransformFromStorage(ctx, data, about)
}

func (x *exchanged) TransformToStorage(ctx context.Context, data []byte, about value.Context) ([]byte, error) {
	return x.now().TransformToStorage(ctx, data, about)
}

// mode selects the layers between etcd3's store and etcd.
type mode string

const (
	lone   mode = "lone"   // subrev; writes do not pass the ledger's storage
	hooked mode = "hooked" // subrev; the companion is no object
	last   mode = "last"   // subrev; the companion is an object of the same resource, and watches are narrow
)

type exam struct {
	storage.Interface
	compactor   *clientv3.Client // uses etcd's revisions
	client      *kubernetes.Client
	codec       runtime.Codec
	transformer *exchanged
	pods        *pods
}

func (e *exam) UpdatePrefixTransformer(modify storagetesting.PrefixTransformerModifier) func() {
	before := e.transformer.now().(*storagetesting.PrefixTransformer)
	changed := *before
	e.transformer.set(modify(&changed))
	return func() { e.transformer.set(before) }
}

const prefixed = "test!"

func newPod() runtime.Object     { return &example.Pod{} }
func newPodList() runtime.Object { return &example.PodList{} }

func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	pod, ok := obj.(*example.Pod)
	if !ok {
		return nil, nil, fmt.Errorf("a %T is no pod", obj)
	}
	return pod.Labels, fields.Set{"metadata.name": pod.Name, "metadata.namespace": pod.Namespace, "spec.nodeName": pod.Spec.NodeName,
		"spec.restartPolicy": string(pod.Spec.RestartPolicy), "status.phase": string(pod.Status.Phase)}, nil
}

var exams atomic.Int64

// newExam returns a decorated store over an empty prefix. If cached is set, a watch cache is in front; if fresh is set,
// the etcd is unused. At the end of the test, companions and pods must agree.
func newExam(t *testing.T, m mode, cached, fresh bool) (context.Context, *exam) {
	t.Helper()
	st := store.New(t, store.Unchecked)
	if fresh {
		st = store.On(t, store.Fresh(t), "/unused")
		st.Damaged = true
	}
	client, unmapped := st.Client, store.Must(st.Connect())
	t.Cleanup(func() { unmapped.Close() })
	root := fmt.Sprintf("/exam-%d", exams.Add(1))
	if !cached {
		root = "" // some suites read etcd at the keys they write
	}
	switch m {
	case lone, hooked:
		store.Must(subrev.New(root + "/pods/")).Wrap(client.Client)
	case last:
		store.Must(subrev.New(root + "/")).Wrap(client.Client)
	}
	recorder := storagetesting.NewKubernetesRecorder(client.Kubernetes)
	client.KV = storagetesting.NewKVRecorder(client.KV, recorder)
	client.Kubernetes = recorder
	if !cached {
		must.Get(client.KV.Delete(t.Context(), "/pods/", clientv3.WithPrefix()))(t)
		must.Get(client.KV.Delete(t.Context(), "/companions/", clientv3.WithPrefix()))(t)
	}
	e := &exam{compactor: unmapped, client: client, codec: apitesting.TestCodec(codecs, examplev1.SchemeGroupVersion),
		transformer: &exchanged{t: storagetesting.NewPrefixTransformer([]byte(prefixed), false)}}
	versioner := storage.APIObjectVersioner{}
	inner := etcd3.NewCompactor(unmapped, 0, clock.RealClock{}, nil)
	t.Cleanup(inner.Stop)
	resource := schema.GroupResource{Resource: "pods"}
	raw, err := etcd3.New(client, subrev.Compactor(inner), e.codec, newPod, newPodList, root, "/pods/", resource, e.transformer,
		etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(e.codec, versioner), versioner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	stored := objects.ObjectCodec{Codec: e.codec, Transformer: e.transformer}
	e.pods = &pods{raw: raw, codec: stored, client: client.Client, root: root, last: m == last}
	e.pods.Interface = ledger.ObjectStorage(raw, e.pods.commit)
	var below storage.Interface = e.pods
	if m == lone {
		below = raw
	}
	e.Interface = below
	if cached {
		c := must.Get(cacher.NewCacherFromConfig(cacher.Config{Storage: below, Versioner: versioner, GroupResource: resource,
			EventsHistoryWindow: cacher.DefaultEventFreshDuration, ResourcePrefix: "/pods/", KeyFunc: func(obj runtime.Object) (string, error) {
				if strings.Contains(t.Name(), "ClusterScoped") {
					return storage.NoNamespaceKeyFunc("/pods/", obj)
				}
				return storage.NamespaceKeyFunc("/pods/", obj)
			},
			GetAttrsFunc: attributes, NewFunc: newPod, NewListFunc: newPodList, Codec: e.codec, Clock: clock.RealClock{}}))(t)
		delegator := cacher.NewCacheDelegator(c, below)
		t.Cleanup(func() { delegator.Stop(); c.Stop() })
		e.Interface = delegator
		store.Eventually(t, "the watch cache is ready", func() bool { return delegator.ReadinessCheck() == nil })
	}
	t.Cleanup(func() { e.agree(t) })
	return t.Context(), e
}

// agree checks that companions and pods agree, but skips writes with leases, because an expiring pod bypasses the
// ledger, which refuses leases.
func (e *exam) agree(t *testing.T) {
	if e.pods.leased.Load() {
		return
	}
	ctx := context.Background()
	r := must.Get(e.client.KV.Get(ctx, e.pods.root+"/companions/", clientv3.WithPrefix()))(t)
	for _, kv := range r.Kvs {
		namespace := string(kv.Key)[len(e.pods.root+"/companions/"):]
		have := must.Get(e.client.KV.Get(ctx, e.pods.root+"/pods/"+namespace, clientv3.WithPrefix(), clientv3.WithKeysOnly()))(t)
		n := 0
		for _, pod := range have.Kvs {
			if e.pods.makeCompanion(string(pod.Key)) == string(kv.Key) {
				n++
			}
		}
		if strconv.Itoa(n) != string(kv.Value) {
			t.Errorf("the companion of %q counts %s pods, there are %d", namespace, kv.Value, n)
		}
	}
}

func (e *exam) increase(ctx context.Context, t *testing.T) int64 {
	r := must.Get(e.client.KV.Put(ctx, "increase", "ok"))(t)
	return r.Header.Revision
}

func (e *exam) compact(ctx context.Context, t *testing.T, revision string) {
	to, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := subrev.Split(to)
	// Given a wrong version, the write of the compactor's key only returns the right version.
	for version, compacted := int64(0), int64(0); compacted < at; {
		if version, _, compacted, err = etcd3.Compact(ctx, e.compactor, version, at); err != nil {
			t.Fatal(err)
		}
	}
	for until := time.Now().Add(time.Minute); e.Interface.CompactRevision() < to; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the store does not hear of the compaction to %d", to)
		}
	}
}

func (e *exam) stored(ctx context.Context, t *testing.T, key string) {
	r, err := e.client.KV.Get(ctx, e.pods.root+key)
	if err != nil || len(r.Kvs) == 0 {
		t.Fatalf("nothing at %s: %v", key, err)
	}
	obj, err := runtime.Decode(e.codec, bytes.TrimPrefix(r.Kvs[0].Value, []byte(prefixed)))
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	if pod := obj.(*example.Pod); pod.ResourceVersion != "" {
		t.Errorf("stored with resourceVersion %q", pod.ResourceVersion)
	}
}
