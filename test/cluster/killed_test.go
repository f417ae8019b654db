// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// breath is a writer's pause: some writer has a request in flight at every moment of a restart, without slowing the
// starting server.
const breath = 20 * time.Millisecond

// readContents returns a server's view of the zone: name to rdata of the Records, and the A records of the entries
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

// A server is killed and restarted under sixteen writers, while the Service keeps sending connections to it. Each
// answer is final or retryable: clients never retry a 401, 403 or 404.
func TestAggregation_serverKilled(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	const namespace = "killed"
	must.Succeed(t, c.kube.Namespace(ctx, namespace))
	_, objects := makeClients(t, c.kube.Admin())
	must.Get(objects.Resource(zones).Namespace(namespace).Create(ctx, zoneObject(namespace, "zone", namespace+".example.",
		everyName(namespace)), metav1.CreateOptions{}))(t)
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
	for kill := range kills {
		for made.Load() < int64(kill*len(writers)) && ctx.Err() == nil {
			time.Sleep(breath)
		}
		c.server.Kill()
		must.Succeed(t, c.startServer(ctx))
	}
	close(enough)
	writing.Wait()
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
