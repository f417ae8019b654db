// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/utils/clock"

	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

func countTransactions() int {
	if rig.Long() {
		return 12
	}
	return 3
}

// world is a prefix of an etcd that holds the resources pods and others, and records the history of writes.
type world struct {
	t       testing.TB
	connect func() (*kubernetes.Client, error) // a separate, unwrapped connection
	root    string
	client  *kubernetes.Client // the writer's
	history []write
	clock   clock.WithTicker // of the servers
}

// write is the write of an object. An empty value deletes the object.
type write struct {
	resource, name, value string // name with namespace
	version               int64
}

func (w write) String() string {
	if w.value == "" {
		return fmt.Sprintf("%d %s/%s deleted", w.version, w.resource, w.name)
	}
	return fmt.Sprintf("%d %s/%s=%s", w.version, w.resource, w.name, w.value)
}

var (
	worlds atomic.Int64
	shared struct {
		sync.Once
		etcd *store.Etcd
	}
)

func newWorld(t testing.TB) *world {
	shared.Do(func() { shared.etcd = store.Fresh(t) })
	return worldOn(t, shared.etcd.Client)
}

func worldAlone(t testing.TB) *world { return worldOn(t, store.Fresh(t).Client) }

func worldOn(t testing.TB, connect func() (*kubernetes.Client, error)) *world {
	w := &world{t: t, connect: connect, root: fmt.Sprintf("/world-%d", worlds.Add(1)), clock: clock.RealClock{}}
	w.client = w.connectWrapped()
	return w
}

// connectRaw returns a connection that uses etcd's revisions.
func (w *world) connectRaw() *kubernetes.Client {
	w.t.Helper()
	c := store.Must(w.connect())
	w.t.Cleanup(func() { c.Close() })
	return c
}

func (w *world) makeMapping() *subrev.Mapping {
	return store.Must(subrev.New(w.root+"/pods/", w.root+"/others/"))
}

func (w *world) connectWrapped() *kubernetes.Client {
	w.t.Helper()
	c := w.connectRaw()
	w.makeMapping().Wrap(c.Client)
	return c
}

func (w *world) keyOf(resource, name string) string { return w.root + "/" + resource + "/" + name }

func (w *world) prefixOf(resource string) string { return w.keyOf(resource, "") }

// computeState computes the state of a resource at a version from the history.
func (w *world) computeState(resource string, version int64) map[string]string {
	out := map[string]string{}
	for _, one := range w.history {
		if one.resource != resource || one.version > version {
			continue
		}
		if delete(out, one.name); one.value != "" {
			out[one.name] = fmt.Sprintf("%s@%d", one.value, one.version)
		}
	}
	return out
}

func (w *world) listWritesAfter(resource, name string, version int64) (out []string) {
	for _, one := range w.history {
		if one.resource == resource && one.version > version && strings.HasPrefix(one.name, name) {
			out = append(out, one.String())
		}
	}
	return out
}

// commitWrites commits the writes in one transaction, in order, and records the versions in the answer.
func (w *world) commitWrites(writes ...write) (header int64) {
	w.t.Helper()
	var cmps []clientv3.Cmp
	var ops []clientv3.Op
	now := map[string]map[string]string{"pods": w.computeState("pods", 1<<62), "others": w.computeState("others", 1<<62)}
	for _, one := range writes {
		at, key := int64(0), w.keyOf(one.resource, one.name)
		if there, ok := now[one.resource][one.name]; ok {
			_, version, _ := strings.Cut(there, "@")
			fmt.Sscan(version, &at)
		}
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(key), "=", at))
		if one.value == "" {
			ops = append(ops, clientv3.OpDelete(key))
		} else {
			ops = append(ops, clientv3.OpPut(key, one.value))
		}
	}
	r, err := w.client.Txn(context.Background()).If(cmps...).Then(ops...).Commit()
	if err != nil || !r.Succeeded {
		w.t.Fatalf("commit of %v: %v", writes, err)
	}
	for i, one := range r.Responses {
		if put := one.GetResponsePut(); put != nil {
			writes[i].version = put.Header.Revision
		} else {
			writes[i].version = one.GetResponseDeleteRange().Header.Revision
		}
	}
	w.history = append(w.history, writes...)
	return r.Header.Revision
}

// mixWrites returns the shuffled creations, changes and deletions of a transaction, in both resources and three
// namespaces.
func (w *world) mixWrites(random *rand.Rand, n int) (out []write) {
	for _, resource := range []string{"pods", "others"} {
		there := slices.Sorted(maps.Keys(w.computeState(resource, 1<<62)))
		used := map[string]bool{}
		for range n {
			one := write{resource: resource, name: fmt.Sprintf("ns%d/%02d", random.IntN(3), random.IntN(30)), value: fmt.Sprint("v", random.IntN(1000))}
			if len(there) > 0 && random.IntN(3) == 0 {
				one.name, one.value = there[random.IntN(len(there))], ""
			}
			if !used[one.name] {
				used[one.name], out = true, append(out, one)
			}
		}
	}
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// fillWorld writes the given number of mixed transactions, with other writes between them, and returns the version
// before.
func (w *world) fillWorld(seed uint64, transactions, n int) (before int64) {
	w.t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	before = store.Must(w.client.KV.Get(context.Background(), w.root)).Header.Revision
	for i := range transactions {
		w.commitWrites(w.mixWrites(random, n)...)
		store.Must(w.client.KV.Put(context.Background(), w.root+"/journal/1", fmt.Sprint(i)))
		w.commitWrites(w.mixWrites(random, 1)...)
	}
	return before
}

// listVersions returns the versions of all writes, and their neighbours.
func (w *world) listVersions(resource string) []int64 {
	around := map[int64]bool{}
	for _, one := range w.history {
		if one.resource == resource {
			around[one.version-1], around[one.version], around[one.version+1] = true, true, true
		}
	}
	all := slices.Sorted(maps.Keys(around))
	return all[:len(all)-1] // the last is in the future
}

// watchEvents returns n events of a watch, or fewer and the error.
func (w *world) watchEvents(client *kubernetes.Client, from int64, n int, key string, opts ...clientv3.OpOption) (out []string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	in := client.Watch(ctx, key, append(opts, clientv3.WithRev(from), clientv3.WithPrevKV())...)
	for len(out) < n {
		r, ok := <-in
		if !ok {
			return append(out, "closed")
		}
		if r.Err() != nil {
			return append(out, r.Err().Error())
		}
		for _, e := range r.Events {
			resource, name, _ := strings.Cut(strings.TrimPrefix(string(e.Kv.Key), w.root+"/"), "/")
			out = append(out, write{resource, name, string(e.Kv.Value), e.Kv.ModRevision}.String())
		}
	}
	return out
}

// crowd limits concurrency to the capacity of the machine.
type crowd struct {
	sync.WaitGroup
	at chan struct{}
}

func (c *crowd) Go(f func()) {
	c.at <- struct{}{}
	c.WaitGroup.Go(func() {
		defer func() { <-c.at }()
		f()
	})
}
