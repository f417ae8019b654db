// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

type endpoint = contract.Endpoint

type changes struct {
	Create    []endpoint `json:"create,omitempty"`
	UpdateOld []endpoint `json:"updateOld,omitempty"`
	UpdateNew []endpoint `json:"updateNew,omitempty"`
	Delete    []endpoint `json:"delete,omitempty"`
}

// fake enforces the contract: one request at a time, the media type, creates only of missing endpoints, updates and
// deletes exactly as listed.
type fake struct {
	t *testing.T

	busy  sync.Mutex
	mu    sync.Mutex // of the fields below
	zones []string
	has   map[string]endpoint
	asked map[string]int
	// fault answers instead of the provider unless 0; after: once the changes are applied.
	fault func(path string, body changes) (status int, after bool)
	// hang delays all requests except GET /.
	hang chan struct{}
	// adjust is the provider's answer to adjustendpoints.
	adjust func([]endpoint) []endpoint
	// skips are silently ignored; keeps alters writes of others.
	skips func(endpoint) bool
	keeps func(endpoint) endpoint
	media string
}

func startFake(t *testing.T, zones ...string) (*fake, string) {
	f := &fake{t: t, zones: zones, has: map[string]endpoint{}, asked: map[string]int{}, media: contract.MediaType}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server.URL
}

func (f *fake) changeLocked(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fake) countAsked(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.asked[path]
	f.asked[path] = 0
	return n
}

func idOf(e endpoint) string { return e.DNSName + " " + e.RecordType + " " + e.SetIdentifier }

func (f *fake) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	path := request.Method + " " + request.URL.Path
	f.mu.Lock()
	f.asked[path]++
	hang := f.hang
	f.mu.Unlock()
	if path != "GET /" {
		if !f.busy.TryLock() {
			f.t.Errorf("%s while another request is under way", path)
			f.busy.Lock()
		}
		defer f.busy.Unlock()
		if hang != nil {
			<-hang
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	header := "Accept"
	if request.Method == http.MethodPost {
		header = "Content-Type"
	}
	if got := request.Header.Get(header); got != contract.MediaType {
		f.t.Errorf("%s with %s %q", path, header, got)
	}
	w.Header().Set("Content-Type", f.media)
	decoder := json.NewDecoder(request.Body)
	decoder.DisallowUnknownFields()
	var body changes
	var answer any
	switch path {
	case "GET /":
		answer = map[string]any{}
	case "GET /records":
		answer = slices.Collect(maps.Values(f.has))
	case "POST /adjustendpoints":
		var wishes []endpoint
		if err := decoder.Decode(&wishes); err != nil || len(wishes) == 0 {
			f.t.Errorf("%s: %d endpoints, %v", path, len(wishes), err)
		}
		if f.adjust != nil {
			wishes = f.adjust(wishes)
		}
		answer = wishes
	case "POST /records":
		if err := decoder.Decode(&body); err != nil {
			f.t.Errorf("%s: %v", path, err)
		}
	default:
		f.t.Errorf("%s is not in the contract", path)
	}
	status, after := 0, false
	if f.fault != nil {
		status, after = f.fault(path, body)
	}
	if path == "POST /records" && (status == 0 || after) && !f.applyChanges(body) && status == 0 {
		status = http.StatusInternalServerError
	}
	switch {
	case status != 0:
		w.WriteHeader(status)
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		must.Succeed(f.t, json.NewEncoder(w).Encode(answer))
	}
}

func (f *fake) applyChanges(body changes) bool {
	next := maps.Clone(f.has)
	seen := map[string]bool{}
	check := func(what string, e endpoint, old bool) {
		if there, is := f.has[idOf(e)]; is != old || old && !reflect.DeepEqual(there, e) {
			f.t.Errorf("%s of %+v where %+v stands", what, e, there)
		}
		if len(e.Targets) == 0 || strings.HasSuffix(e.DNSName, ".") || seen[idOf(e)] {
			f.t.Errorf("%s of %+v", what, e)
		}
		seen[idOf(e)] = true
	}
	write := func(e endpoint) {
		in := slices.ContainsFunc(f.zones, func(z string) bool { return e.DNSName == z || strings.HasSuffix(e.DNSName, "."+z) })
		if !in || f.skips != nil && f.skips(e) {
			return
		}
		if f.keeps != nil {
			e = f.keeps(e)
		}
		next[idOf(e)] = e
	}
	if len(body.UpdateOld) != len(body.UpdateNew) {
		f.t.Errorf("%d updates of %d endpoints", len(body.UpdateNew), len(body.UpdateOld))
		return false
	}
	for _, e := range body.Delete {
		check("delete", e, true)
		delete(next, idOf(e))
	}
	for i, e := range body.UpdateOld {
		check("update", e, true)
		if idOf(e) != idOf(body.UpdateNew[i]) {
			f.t.Errorf("update of %s to %s", idOf(e), idOf(body.UpdateNew[i]))
		}
		write(body.UpdateNew[i])
	}
	for _, e := range body.Create {
		check("create", e, false)
		write(e)
	}
	// The provider's API refuses a CNAME beside other data. PowerDNS's writes first.
	for _, e := range next {
		for _, other := range slices.AppendSeq(slices.Collect(maps.Values(next)), maps.Values(f.has)) {
			if e.RecordType == "CNAME" && other.DNSName == e.DNSName && other.RecordType != "CNAME" {
				return false
			}
		}
	}
	f.has = next
	return true
}

func (f *fake) putEndpoint(e endpoint) {
	f.changeLocked(func() {
		if f.has[idOf(e)] = e; len(e.Targets) == 0 {
			delete(f.has, idOf(e))
		}
	})
}

func (f *fake) inspectZone(t *testing.T, zone name.Name) (sets []delivery.RRset) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.has {
		if owner := name.MustParse(e.DNSName + "."); zone.Encloses(owner) {
			sets = append(sets, readEndpoint(t, e))
		}
	}
	return sets
}

// readEndpoint takes a text without quotes literally.
func readEndpoint(t *testing.T, e endpoint) delivery.RRset {
	t.Helper()
	set := delivery.RRset{
		Name: name.MustParse(e.DNSName + "."), Type: must.Get(rdata.ParseType(e.RecordType))(t), TTL: uint32(e.RecordTTL),
	}
	for _, target := range e.Targets {
		if set.Type == rdata.TXT && !strings.HasPrefix(target, `"`) {
			target = rdata.QuoteText(target)
		}
		set.Data = append(set.Data, must.Get(rdata.FromRR(set.Type, target, name.Root))(t))
	}
	return set
}

func writeEndpoint(t *testing.T, set delivery.RRset, plainText bool) endpoint {
	t.Helper()
	return *must.Get(endpointOf(protocol.RRset{Name: set.Name, Type: set.Type, TTL: set.TTL, Data: set.Data}, plainText))(t)
}

func openBackend(t *testing.T, config Config) *Backend { return must.Get(New(config))(t) }

var zone = name.MustParse("example.org.")

func makeSet(t *testing.T, owner string, kind rdata.Type, data ...string) protocol.RRset {
	t.Helper()
	n := must.Get(name.ParseIn(owner, zone))(t)
	return protocol.RRset{Zone: zone, Name: n, Type: kind, TTL: 300, Data: data}
}

var _ server.Backend = (*Backend)(nil)
