// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

type load struct {
	namespace string
	clients   []dynamic.ResourceInterface

	mu      sync.Mutex
	there   map[string]string // name to rdata: acknowledged, or the last known value of a record in doubt
	retried map[string]int    // by error
	failed  []error           // errors that no client may retry
	acked   int
}

// isRetryable: the server or a proxy answered so, or the connection broke and the outcome is unknown.
func isRetryable(err error) (why string, ok bool) {
	switch {
	case apierrors.IsTooManyRequests(err):
		return "429", true
	case apierrors.IsServiceUnavailable(err):
		return "503", true
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "504", true
	case utilnet.IsConnectionRefused(err):
		return "refused", true
	case utilnet.IsConnectionReset(err), utilnet.IsHTTP2ConnectionLost(err), utilnet.IsProbableEOF(err), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection lost", true
	case errors.Is(err, context.DeadlineExceeded), utilnet.IsTimeout(err):
		return "own deadline", true
	}
	return "", false
}

// tryRequest repeats a request until success. again: an earlier try may have been carried out.
func (l *load) tryRequest(ctx context.Context, what string, request func(ctx context.Context, again bool) error) bool {
	for again := false; ; again = true {
		err := request(ctx, again)
		if err == nil {
			l.mu.Lock()
			l.acked++
			l.mu.Unlock()
			return true
		}
		why, ok := isRetryable(err)
		l.mu.Lock()
		if ok {
			l.retried[why]++
		} else {
			l.failed = append(l.failed, fmt.Errorf("%s: %w", what, err))
		}
		l.mu.Unlock()
		if !ok || ctx.Err() != nil {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// breath is a writer's pause: six writers have requests in flight at every moment of a restart, without slowing the
// starting server.
const breath = 20 * time.Millisecond

// writeRecords creates, changes and deletes records until enough is closed. waitTimeout bounds every try.
func (l *load) writeRecords(ctx context.Context, worker int, enough <-chan struct{}) {
	client := l.clients[worker%len(l.clients)]
	for n := 0; ; n++ {
		select {
		case <-enough:
			return
		case <-time.After(breath):
		}
		name := fmt.Sprintf("w%d-%d", worker, n)
		if !l.tryRequest(ctx, "create "+name, func(ctx context.Context, again bool) error {
			_, err := client.Create(ctx, recordObject(l.namespace, name, name+"."+l.namespace+".example."), metav1.CreateOptions{})
			if again && apierrors.IsAlreadyExists(err) {
				return nil // the outcome of the try before
			}
			return err
		}) {
			return
		}
		l.setRecord(name, "192.0.2.1")
		if n%2 == 0 {
			if !l.tryRequest(ctx, "patch "+name, func(ctx context.Context, _ bool) error {
				_, err := client.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"rdata":"192.0.2.2"}}`), metav1.PatchOptions{})
				return err
			}) {
				return
			}
			l.setRecord(name, "192.0.2.2")
		}
		if n%3 == 0 {
			if !l.tryRequest(ctx, "delete "+name, func(ctx context.Context, again bool) error {
				err := client.Delete(ctx, name, metav1.DeleteOptions{})
				if again && apierrors.IsNotFound(err) {
					return nil
				}
				return err
			}) {
				return
			}
			l.mu.Lock()
			delete(l.there, name)
			l.mu.Unlock()
		}
	}
}

func (l *load) setRecord(name, rdata string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.there[name] = rdata
}

func (c *cluster) zoneFor(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	must.Succeed(t, c.kube.Namespace(ctx, namespace))
	_, objects := makeClients(t, c.kube.Admin())
	must.Get(objects.Resource(zones).Namespace(namespace).Create(ctx, zoneObject(namespace, "zone", namespace+".example.",
		everyName(namespace)), metav1.CreateOptions{}))(t)
}

// makeRecordClients: through the aggregator, and directly to the Service.
func (c *cluster) makeRecordClients(t *testing.T, namespace string) []dynamic.ResourceInterface {
	t.Helper()
	_, aggregated := makeClients(t, c.kube.Admin())
	config := c.kube.Admin()
	config.Host = "https://" + c.service.Addr.String()
	_, direct := makeClients(t, config)
	return []dynamic.ResourceInterface{aggregated.Resource(records).Namespace(namespace), direct.Resource(records).Namespace(namespace)}
}

// readContents returns a replica's view of the zone: name to rdata of the Records, and the A records of the entries
// by name.
func (c *cluster) readContents(ctx context.Context, t *testing.T, base, namespace string) (objects, entries map[string]string,
	serial int64) {
	t.Helper()
	config := c.kube.Admin()
	config.Host = base
	_, client := makeClients(t, config)
	list := must.Get(client.Resource(records).Namespace(namespace).List(ctx, metav1.ListOptions{}))(t)
	objects, entries = map[string]string{}, map[string]string{}
	for _, item := range list.Items {
		objects[item.GetName()], _, _ = unstructured.NestedString(item.Object, "spec", "rdata")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/apis/kubi.zone/v1alpha1/namespaces/"+namespace+"/zones/zone/entries", nil)
	if err != nil {
		t.Fatal(err)
	}
	response := must.Get(httpClient(t, config).Do(request))(t)
	defer response.Body.Close()
	var view struct {
		Serial  int64
		Entries []struct{ Fqdn, Type, Rdata string }
	}
	if err := json.NewDecoder(response.Body).Decode(&view); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("entries: %s, %v", response.Status, err)
	}
	for _, entry := range view.Entries {
		if name := strings.TrimSuffix(entry.Fqdn, "."+namespace+".example."); entry.Type == "A" && name != "ns1" {
			entries[name] = entry.Rdata
		}
	}
	return objects, entries, view.Serial
}

func (l *load) checkContents(ctx context.Context, t *testing.T, c *cluster) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, err := range l.failed {
		if i == 5 {
			t.Errorf("and %d more", len(l.failed)-i)
			break
		}
		t.Errorf("a request failed that was not retryable: %v", err)
	}
	var serials []int64
	for i, replica := range c.replicas {
		objects, entries, serial := c.readContents(ctx, t, replica.URL(), l.namespace)
		if !maps.Equal(objects, l.there) {
			t.Errorf("replica %d has %d records, the writers know of %d; %s", i, len(objects), len(l.there),
				describeDifference(objects, l.there))
		}
		if !maps.Equal(entries, l.there) {
			t.Errorf("the zone of replica %d has %d names, the writers know of %d; %s", i, len(entries), len(l.there),
				describeDifference(entries, l.there))
		}
		serials = append(serials, serial)
	}
	if len(slices.Compact(slices.Clone(serials))) != 1 {
		t.Errorf("replicas are at serials %v", serials)
	}
	t.Logf("%d requests answered, %d records there, serial %d, repeated: %v", l.acked, len(l.there), serials[0], l.retried)
	if out, err := exec.CommandContext(ctx, c.kubizone, "fsck", "--etcd-servers", c.etcd.Endpoint).CombinedOutput(); err != nil {
		t.Errorf("fsck: %v\n%s", err, out)
	}
}

func describeDifference(got, want map[string]string) string {
	var text []string
	for name := range got {
		if got[name] != want[name] {
			text = append(text, fmt.Sprintf("%s is %q, want %q", name, got[name], want[name]))
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			text = append(text, fmt.Sprintf("%s is missing, want %q", name, want[name]))
		}
	}
	slices.Sort(text)
	return strings.Join(text[:min(len(text), 5)], "; ")
}

func (l *load) runLoad(ctx context.Context, disturb func() error) error {
	enough := make(chan struct{})
	var writers sync.WaitGroup
	for worker := range 6 {
		writers.Go(func() { l.writeRecords(ctx, worker, enough) })
	}
	err := disturb()
	close(enough)
	writers.Wait()
	return err
}

func followRecords(t *testing.T, client dynamic.ResourceInterface) cache.Store {
	t.Helper()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, o)
		},
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflector(source, &unstructured.Unstructured{}, store, 0)
	go reflector.RunWithContext(t.Context())
	return store
}

// Two servers behind a Service restart in turn, while clients write through the aggregator and directly to the Service.
// Every failed request may be retried, no acknowledged write is lost, all replicas agree, and a watch open throughout
// has every change. test/deploy has three servers, each with its member of etcd.
func TestReplicas_rollingRestart(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	const namespace = "rolling"
	c.zoneFor(ctx, t, namespace)
	must.Succeed(t, c.scaleReplicas(ctx, 2))
	defer func() {
		if err := c.scaleReplicas(context.WithoutCancel(ctx), 1); err != nil {
			t.Error(err)
		}
	}()
	l := &load{namespace: namespace, clients: c.makeRecordClients(t, namespace), there: map[string]string{}, retried: map[string]int{}}
	watched := followRecords(t, l.clients[0])
	must.Succeed(t, l.runLoad(ctx, func() error {
		for i := range c.replicas {
			if err := c.replicas[i].Stop(ctx); err != nil {
				return fmt.Errorf("replica %d: %w", i, err)
			}
			if err := c.restartReplica(ctx, i); err != nil {
				return err
			}
			if err := c.waitReady(ctx); err != nil {
				return err
			}
		}
		return nil
	}))
	l.checkContents(ctx, t, c)
	for !maps.Equal(listShown(watched), l.there) {
		if ctx.Err() != nil {
			t.Fatalf("the watch shows %d records, want %d; %s", len(listShown(watched)), len(l.there),
				describeDifference(listShown(watched), l.there))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func listShown(store cache.Store) map[string]string {
	out := map[string]string{}
	for _, object := range store.List() {
		record := object.(*unstructured.Unstructured)
		out[record.GetName()], _, _ = unstructured.NestedString(record.Object, "spec", "rdata")
	}
	return out
}

// A server is killed and restarted under sixteen writers, while the Service keeps sending connections to it. Each
// answer is final or retryable: clients never retry a 401, 403 or 404.
func TestReplicas_killedUnderWriters(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	const namespace = "killed"
	c.zoneFor(ctx, t, namespace)
	c.service.SendToUnready(true)
	defer c.service.SendToUnready(false)
	kills := 3
	if rig.Long() {
		kills = 30
	}
	writers := make([]*rawWriter, 16)
	enough := make(chan struct{})
	var made atomic.Int64
	var writing sync.WaitGroup
	for i := range writers {
		// like kubectl, with a connection of its own
		w := &rawWriter{client: httpClient(t, c.kube.Admin()), base: c.kube.Admin().Host, namespace: namespace, made: &made,
			answers: map[string]int{}}
		writers[i] = w
		writing.Go(func() { w.writeRecords(ctx, i, enough) })
	}
	err := func() error {
		for kill := range kills {
			for made.Load() < int64(kill*len(writers)) && ctx.Err() == nil {
				time.Sleep(breath)
			}
			c.server.Kill()
			if err := c.restartReplica(ctx, 0); err != nil {
				return err
			}
		}
		return c.waitReady(ctx)
	}()
	close(enough)
	writing.Wait()
	must.Succeed(t, err)
	answers := map[string]int{}
	for _, w := range writers {
		for answer, count := range w.answers {
			answers[answer] += count
		}
		for _, wrong := range w.wrong {
			t.Error(wrong)
		}
	}
	t.Log(answers)
}

type rawWriter struct {
	client          *http.Client
	base, namespace string
	made            *atomic.Int64 // by all writers
	answers         map[string]int
	wrong           []string // answers that look final to a client but do not answer the request
}

// writeRecords creates records, and reads each, until enough is closed and the last record exists.
func (w *rawWriter) writeRecords(ctx context.Context, worker int, enough <-chan struct{}) {
	path := w.base + "/apis/kubi.zone/v1alpha1/namespaces/" + w.namespace + "/records"
	for n := 0; ; n++ {
		name := fmt.Sprintf("w%d-%d", worker, n)
		body, _ := json.Marshal(recordObject(w.namespace, name, name+"."+w.namespace+".example.")) // strings always marshal
		// A request answered 503 may have been carried out: then the next answer is 409.
		if !w.repeatUnavailable(ctx, http.MethodPost, path, body, http.StatusCreated, http.StatusConflict) ||
			!w.repeatUnavailable(ctx, http.MethodGet, path+"/"+name, nil, http.StatusOK, http.StatusOK) {
			return
		}
		w.made.Add(1)
		select {
		case <-enough:
			return
		case <-time.After(breath):
		}
	}
}

// repeatUnavailable repeats a request while the answer is 503 or cut off, and reports whether the final status is
// first, or again after a try.
func (w *rawWriter) repeatUnavailable(ctx context.Context, method, path string, body []byte, first, again int) bool {
	for tries := 0; ; tries++ {
		code, text, err := w.sendRequest(ctx, method, path, body)
		answer := fmt.Sprintf("%s %d", method, code)
		if err != nil {
			answer = method + " cut off"
		}
		w.answers[answer]++
		switch {
		case err != nil && ctx.Err() == nil, code == http.StatusServiceUnavailable:
			time.Sleep(breath)
		case code == first, tries > 0 && code == again:
			return true
		default:
			w.wrong = append(w.wrong, fmt.Sprintf("%s %s, try %d: %d %s %v", method, path, tries, code, text, err))
			return false
		}
	}
}

func (w *rawWriter) sendRequest(ctx context.Context, method, path string, body []byte) (code int, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, err
}
