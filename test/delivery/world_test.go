// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const waitTimeout = 5 * time.Minute

var kubizone string

func TestMain(m *testing.M) {
	rig.Main("delivery", func(dir string) (_ int, err error) {
		if kubizone, err = rig.Kubizone(context.Background(), dir, ""); err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

func waitUntil(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never so: %s", what)
		}
	}
}

type world struct {
	*testing.T
	up         *rig.Process
	kubeconfig string
	api        typed.KubizoneV1alpha1Interface
	raw        rest.Interface
}

var ready = regexp.MustCompile(`(?m)^ready`)

func startWorld(t *testing.T, flags ...string) *world {
	t.Helper()
	return startIn(t, t.TempDir(), flags...)
}

func startIn(t *testing.T, dir string, flags ...string) *world {
	t.Helper()
	w := launchIn(t, kubizone, dir, flags...)
	waitUntil(t, "up is ready", func() bool {
		select {
		case <-w.up.Ended():
			t.Fatal("up ended")
		default:
		}
		return w.connect()
	})
	return w
}

// launchIn does not wait.
func launchIn(t *testing.T, path, dir string, flags ...string) *world {
	t.Helper()
	data := filepath.Join(dir, "data")
	return &world{T: t, kubeconfig: filepath.Join(data, "kubeconfig"), up: rig.RunProcess(t, path, append([]string{"up", "--data-dir", data,
		"--listen", "127.0.0.1:0", "--dns-listen", "127.0.0.1:0"}, flags...)...)}
}

// connect returns false while the server is not ready.
func (w *world) connect() bool {
	if !ready.MatchString(w.up.Log()) {
		return false
	}
	config := must.Get(clientcmd.BuildConfigFromFlags("", w.kubeconfig))(w)
	config.QPS = -1
	client := must.Get(versioned.NewForConfig(config))(w)
	w.api, w.raw = client.KubizoneV1alpha1(), client.Discovery().RESTClient()
	return true
}

type hook struct {
	*httptest.Server

	mu sync.Mutex
	// before is called before each change, and may block or refuse.
	before func(r *http.Request) *protocol.Error
	posts  []protocol.Record
	calls  int
	// The records by path, if listing is supported.
	existing map[string]protocol.Record
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Server.Close)
	return h
}

func (h *hook) setBefore(before func(r *http.Request) *protocol.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = before
}

func (h *hook) countCalls() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

func (h *hook) countValue(value string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, record := range h.posts {
		if len(record.Values) == 1 && record.Values[0] == value {
			n++
		}
	}
	return n
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	h.mu.Lock()
	h.calls++
	before := h.before
	h.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/health") {
		answer(http.StatusOK, protocol.Health{Status: protocol.Healthy})
		return
	}
	yes, no := true, false
	if before != nil {
		if refusal := before(r); refusal != nil {
			answer(refusal.HTTPStatus(), protocol.Response{Success: &no, Error: refusal})
			return
		}
	}
	if r.Method == http.MethodGet && h.existing != nil {
		h.mu.Lock()
		record, exists := h.existing[r.URL.EscapedPath()]
		h.mu.Unlock()
		if !exists {
			missing := &protocol.Error{Code: protocol.CodeRecordNotFound, Message: "no such record"}
			answer(missing.HTTPStatus(), protocol.Response{Success: &no, Error: missing})
			return
		}
		answer(http.StatusOK, protocol.Response{Success: &yes, Record: &record})
		return
	}
	if r.Method == http.MethodPost {
		var request protocol.Request
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			answer(http.StatusBadRequest, protocol.Response{Success: &no, Error: &protocol.Error{Code: protocol.CodeInvalidRecord, Message: err.Error()}})
			return
		}
		h.mu.Lock()
		h.posts = append(h.posts, request.Record)
		if set, err := protocol.Decode(request.Record); err == nil && h.existing != nil {
			if path, err := protocol.RecordPath(set.Zone, set.Name, set.Type); err == nil {
				h.existing[path] = request.Record
			}
		}
		h.mu.Unlock()
		answer(http.StatusOK, protocol.Response{Success: &yes, Record: &request.Record})
		return
	}
	answer(http.StatusOK, protocol.Response{Success: &yes})
}

func (w *world) makeClass(name string, h *hook, change func(*v1alpha1.DNSClassSpec)) {
	w.Helper()
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.DNSClassSpec{AllowLocalAddresses: true, Webhook: &v1alpha1.WebhookProvider{Server: h.URL}}}
	class.Spec.Namespaces = &v1alpha1.NamespaceSelection{Names: []string{"default"}}
	if change != nil {
		change(&class.Spec)
	}
	must.Get(w.api.DNSClasses().Create(w.Context(), class, metav1.CreateOptions{}))(w)
}

func (w *world) makeZone(name, fqdn string, classes ...string) {
	w.Helper()
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ZoneSpec{
		Limits:     &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))},
		DomainName: fqdn, NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: "default", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}
	for _, class := range classes {
		zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Name: class})
	}
	must.Get(w.api.Zones("default").Create(w.Context(), zone, metav1.CreateOptions{}))(w)
}

func (w *world) makeRecord(name, zone, data string) error {
	_, err := w.api.Records("default").Create(w.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RecordSpec{
		DomainName: name, ZoneRef: &v1alpha1.ZoneReference{Name: zone}, Type: "A", RData: data,
	}}, metav1.CreateOptions{})
	return err
}

func (w *world) changeRecord(name, data string) {
	w.Helper()
	record, err := w.api.Records("default").Get(w.Context(), name, metav1.GetOptions{})
	if err == nil {
		record.Spec.RData, record.ResourceVersion = data, ""
		_, err = w.api.Records("default").Update(w.Context(), record, metav1.UpdateOptions{})
	}
	if err != nil {
		w.Fatal(err)
	}
}

func isReady(conditions []metav1.Condition) bool {
	for _, condition := range conditions {
		if condition.Type == v1alpha1.ConditionReady {
			return condition.Status == metav1.ConditionTrue
		}
	}
	return false
}

func (w *world) waitForAllReady() {
	w.Helper()
	waitUntil(w.T, "all is Ready", func() bool {
		zones := must.Get(w.api.Zones("").List(w.Context(), metav1.ListOptions{}))(w)
		for _, zone := range zones.Items {
			if !isReady(zone.Status.Conditions) {
				return false
			}
		}
		records := must.Get(w.api.Records("").List(w.Context(), metav1.ListOptions{}))(w)
		for _, record := range records.Items {
			if !isReady(record.Status.Conditions) {
				return false
			}
		}
		return true
	})
}

type sample struct {
	name, labels string
	value        float64
}

func (w *world) readMetrics() []sample {
	w.Helper()
	return parseSamples(w.T, w.readText())
}

func (w *world) readText() string {
	w.Helper()
	return string(must.Get(w.raw.Get().AbsPath("/metrics").DoRaw(w.Context()))(w))
}

func parseSamples(t *testing.T, text string) []sample {
	t.Helper()
	var all []sample
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			t.Fatalf("metric %q: %v", line, err)
		}
		name, labels, _ := strings.Cut(line[:at], "{")
		all = append(all, sample{name, strings.TrimSuffix(labels, "}"), value})
	}
	return all
}

func (s sample) labelOf(name string) string {
	for _, part := range strings.Split(s.labels, ",") {
		if value, ok := strings.CutPrefix(part, name+`="`); ok {
			return strings.TrimSuffix(value, `"`)
		}
	}
	return ""
}

// countWrites counts the writes to this API, by "resource" or "resource/subresource". A request is counted after its
// answer, so counting ends when two looks agree.
func (w *world) countWrites() map[string]int {
	w.Helper()
	counts := w.countRequests()
	waitUntil(w.T, "no request is under way", func() bool {
		time.Sleep(50 * time.Millisecond)
		before := counts
		counts = w.countRequests()
		return maps.Equal(before, counts)
	})
	return counts
}

func (w *world) countRequests() map[string]int {
	counts := map[string]int{}
	for _, s := range w.readMetrics() {
		if s.name != "apiserver_request_total" || s.labelOf("group") != v1alpha1.GroupName {
			continue
		}
		switch s.labelOf("verb") {
		case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
			what := s.labelOf("resource")
			if sub := s.labelOf("subresource"); sub != "" {
				what += "/" + sub
			}
			counts[what] += int(s.value)
		}
	}
	return counts
}

func subtractCounts(before, now map[string]int) map[string]int {
	more := map[string]int{}
	for what, n := range now {
		if n != before[what] {
			more[what] = n - before[what]
		}
	}
	return more
}

func sumCounts(counts map[string]int) int {
	n := 0
	for _, one := range counts {
		n += one
	}
	return n
}

func runAll(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return f(i) })
	}
	must.Succeed(t, group.Wait())
}
