// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
)

// door serves a zone's two subresources as the generic server would.
type door struct {
	*httptest.Server
	zone    *v1alpha1.Zone
	streams *streams
}

func openDoor(t *testing.T, views Views, change func(*streams)) *door {
	t.Helper()
	d := &door{zone: exampleZone(7)}
	config := Config{
		Views: views, Stopping: t.Context(),
		Authorizer: authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if a.GetUser().GetName() == "admin" {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		}),
	}
	d.streams = newStreams(config, func(_ context.Context, name string) (*v1alpha1.Zone, error) {
		if name != d.zone.Name {
			return nil, apierrors.NewNotFound(v1alpha1.Resource("zones"), name)
		}
		return d.zone, nil
	})
	d.streams.viewTimeout = 50 * time.Millisecond
	if change != nil {
		change(d.streams)
	}
	codec := install.New().ParameterCodec
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := genericapirequest.WithUser(req.Context(), &user.DefaultInfo{Name: req.Header.Get("User")})
		id, subresource, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
		var handler http.Handler
		var err error
		switch subresource {
		case "entries":
			rest := newEntries(d.streams)
			options, _, _ := rest.NewConnectOptions()
			if err = codec.DecodeParameters(req.URL.Query(), v1alpha1.SchemeGroupVersion, options); err == nil {
				handler, err = rest.Connect(ctx, id, options, nil)
			}
		case "changes":
			rest := newChanges(d.streams)
			options, _, _ := rest.NewConnectOptions()
			if err = codec.DecodeParameters(req.URL.Query(), v1alpha1.SchemeGroupVersion, options); err == nil {
				handler, err = rest.Connect(ctx, id, options, nil)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		handler.ServeHTTP(w, req.WithContext(ctx))
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *door) getPage(t *testing.T, path, accept, as string) (int, http.Header, string) {
	t.Helper()
	req := must.Get(http.NewRequest(http.MethodGet, d.URL+path, nil))(t)
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	req.Header.Set("User", as)
	response := must.Get(http.DefaultClient.Do(req))(t)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s broke off: %v", path, err)
	}
	return response.StatusCode, response.Header, string(body)
}

func (d *door) getEntries(t *testing.T, query string) v1alpha1.ZoneEntries {
	t.Helper()
	code, _, body := d.getPage(t, "/example-org/entries?"+query, "application/json", "tenant")
	if code != http.StatusOK {
		t.Fatalf("%s: %d %s", query, code, body)
	}
	var out v1alpha1.ZoneEntries
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%s: %v\n%s", query, err, body)
	}
	return out
}

func (d *door) expectRefusal(t *testing.T, path, accept, as string, code int, text string) http.Header {
	t.Helper()
	got, header, body := d.getPage(t, path, accept, as)
	var status metav1.Status
	if err := json.Unmarshal([]byte(body), &status); err != nil || status.Kind != "Status" || int(status.Code) != code {
		t.Errorf("%s: not a Status of %d: %s", path, code, body)
	}
	if got != code || !strings.Contains(status.Message, text) {
		t.Errorf("%s: %d %q, want %d with %q", path, got, status.Message, code, text)
	}
	return header
}

func describeEntries(entries []v1alpha1.Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.FQDN, ".example.org.")+" "+e.Type)
	}
	return strings.Join(out, ", ")
}

func TestEntries_selected(t *testing.T) {
	d := openDoor(t, &held{snapshots: []*fixed{makeExample(7, 2)}}, nil)
	for query, want := range map[string]string{
		"type=a":                         "host000000 A, host000001 A, www A, www A, www A",
		"type=TYPE15":                    "example.org. MX",
		"name=www":                       "www A, www A, www A",
		"name=@":                         "example.org. SOA, example.org. NS, example.org. MX",
		"name=EXAMPLE.org.":              "example.org. SOA, example.org. NS, example.org. MX",
		"name=@&type=NS":                 "example.org. NS",
		"name=missing":                   "",
		"name=www.example.net.":          "",
		"type=CAA":                       "",
		"name=www&type=A&limit=2":        "www A, www A",
		"name=" + url.QueryEscape("*"):   "",
		"name=host000001.example.org.":   "host000001 A",
		"type=A&limit=3":                 "host000000 A, host000001 A, www A",
		"type=A&limit=100&name=zzz":      "",
		"type=SOA&limit=1":               "example.org. SOA",
		"name=zzz&limit=1&type=TYPE6553": "",
		"search=ST000001":                "host000001 A",
		"search=mx":                      "example.org. MX",
		"search=ww&limit=2":              "www A, www A",
		"search=ww&type=AAAA":            "",
		"search=ww&name=host000001":      "",
		"search=" + url.QueryEscape("*"): "",
	} {
		if got := describeEntries(d.getEntries(t, query).Entries); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	d.expectRefusal(t, "/example-org/entries?type=NOPE", "", "tenant", http.StatusBadRequest, "query parameter type")
	d.expectRefusal(t, "/example-org/entries?name=a..b", "", "tenant", http.StatusBadRequest, "query parameter name")
	d.expectRefusal(t, "/example-org/entries?limit=-1", "", "tenant", http.StatusBadRequest, "query parameter limit")
	d.expectRefusal(t, "/example-org/entries?search="+strings.Repeat("a", maxSearch+1), "", "tenant", http.StatusBadRequest,
		"query parameter search")
	d.expectRefusal(t, "/example-org/entries?form=definition&search=a", "", "tenant", http.StatusBadRequest, "leave out")
}

func TestEntries_searchedByAddress(t *testing.T) {
	example := makeExample(7, 0)
	add := func(rrtype rdata.Type, data string) {
		example.entries = append(example.entries, dns.Entry{Name: name.MustParse("z.example.org."), Type: rrtype, TTL: 1, Data: data})
	}
	add(rdata.A, "198.51.100.7")
	add(rdata.A, "198.51.100.8")
	add(rdata.AAAA, "2001:db8::7")
	add(rdata.TXT, "198.51.100.7")
	d := openDoor(t, &held{snapshots: []*fixed{example}}, nil)
	for search, want := range map[string]string{
		"198.51.100.7":         "z A",
		"198.51.100.0/24":      "z A, z A",
		"198.51.100.9/24":      "z A, z A",
		"2001:db8::/32":        "z AAAA",
		"2001:DB8:0:0:0::7":    "z AAAA",
		"203.0.113.0/24":       "",
		"fe80::1%eth0":         "",
		"198.51.100.7.example": "",
		"198.51.100.":          "z A, z A", // the beginning of an address
		"198.51.1":             "z A, z A",
		"2001:DB8:":            "z AAAA",
		"51.100.":              "",
		"198":                  "",
	} {
		if got := describeEntries(d.getEntries(t, "search="+url.QueryEscape(search)).Entries); got != want {
			t.Errorf("%s: %s, want %s", search, got, want)
		}
	}
}

// A search in zones/entries finds a name as a person types it, in any script (S1.2).
func TestEntries_searchedAsTyped_S1_2(t *testing.T) {
	example := makeExample(7, 0)
	example.entries = append(example.entries, dns.Entry{Name: name.MustParse("straße.bücher.example.org."), Type: rdata.A, TTL: 1,
		Data: "192.0.2.1"})
	d := openDoor(t, &held{snapshots: []*fixed{example}}, nil)
	for search, want := range map[string]string{"bücher": "A", "STRAß": "A", "e.büc": "A", "xn--bcher-kva": "A", "bu\u0308cher": "A",
		"buecher": "", "büchers": ""} {
		if got := d.getEntries(t, "search="+url.QueryEscape(search)).Entries; len(got) != len(want) {
			t.Errorf("%s: %s", search, describeEntries(got))
		}
	}
}

// A search in zones/entries that finds little examines a bounded number of entries for an answer, and the continue
// token leads on from there.
func TestEntries_searchIsBounded(t *testing.T) {
	d := openDoor(t, &held{snapshots: []*fixed{makeExample(7, maxExamined+10)}}, nil)
	for _, query := range []string{"search=nowhere&limit=10", "search=nowhere", "search=nowhere&type=A", "search=host&type=CAA"} {
		first := d.getEntries(t, query)
		if len(first.Entries) != 0 || first.Metadata.Continue == "" {
			t.Fatalf("%s: after %d entries: %d found, continue %q", query, maxExamined, len(first.Entries), first.Metadata.Continue)
		}
		if rest := d.getEntries(t, query+"&continue="+first.Metadata.Continue); len(rest.Entries) != 0 || rest.Metadata.Continue != "" {
			t.Errorf("%s: the rest: %d found, continue %q", query, len(rest.Entries), rest.Metadata.Continue)
		}
	}
	pages, next := 0, ""
	var found []v1alpha1.Entry
	for ; pages == 0 || next != ""; pages++ {
		page := d.getEntries(t, "search=host25000&limit=3&continue="+next)
		found, next = append(found, page.Entries...), page.Metadata.Continue
	}
	if got := describeEntries(found); len(found) != 10 || !strings.HasPrefix(got, "host250000 A, host250001 A") {
		t.Errorf("%d pages have %s", pages, got)
	}
}

// The pages of zones/entries, of any size, together equal the whole list at one serial, also if the zone changes
// between two pages.
func TestEntries_pagesAreOneSerial(t *testing.T) {
	views := &held{snapshots: []*fixed{makeExample(7, 20)}}
	d := openDoor(t, views, nil)
	for _, filter := range []string{"", "type=A", "name=www", "name=@"} {
		whole := describeEntries(d.getEntries(t, filter).Entries)
		for _, limit := range []string{"1", "2", "3", "7", "25", "26", "1000"} {
			var pages []v1alpha1.Entry
			token := ""
			for {
				page := d.getEntries(t, filter+"&limit="+limit+"&continue="+token)
				if page.Serial != 7 {
					t.Fatalf("a page of serial %d", page.Serial)
				}
				pages = append(pages, page.Entries...)
				if token = page.Metadata.Continue; token == "" {
					break
				}
				if len(page.Entries) == 0 {
					t.Fatal("an empty page that goes on")
				}
				if len(views.snapshots) == 1 {
					views.putSnapshot(makeExample(8, 25))
				}
			}
			if got := describeEntries(pages); got != whole {
				t.Errorf("filter %q, limit %s: %s, want %s", filter, limit, got, whole)
			}
			views.dropSnapshot(8)
		}
	}
}

func TestEntries_continueIsGone(t *testing.T) {
	views := &held{snapshots: []*fixed{makeExample(7, 20)}}
	d := openDoor(t, views, nil)
	token := d.getEntries(t, "limit=5").Metadata.Continue
	views.putSnapshot(makeExample(8, 20))
	views.dropSnapshot(7)
	d.expectRefusal(t, "/example-org/entries?limit=5&continue="+token, "", "tenant", http.StatusGone, "serial 7")
	d.expectRefusal(t, "/example-org/entries?continue=bm90IG91cnM", "", "tenant", http.StatusBadRequest, "continue")
	// A recreated zone is another zone.
	views.putSnapshot(makeExample(7, 20))
	d.zone.UID = "another"
	d.expectRefusal(t, "/example-org/entries?limit=5&continue="+token, "", "tenant", http.StatusGone, "serial 7")
}

// A zone that ended has no entries, and zones/entries answers 404. For providers that must withdraw the zone,
// zones/changes lists the former entries as removed, until the withdrawal is complete (S3.7).
func TestChanges_nameWhatAnEndedZoneHad_S3_7(t *testing.T) {
	views := &held{left: dns.Change{From: 5, To: 7, Removed: []dns.Entry{{Name: name.MustParse("www.example.org."), Type: rdata.A}}}}
	d := openDoor(t, views, nil)
	d.zone.Status.FQDN, d.zone.Status.Serial, d.zone.Status.EndsAt = "", 0, &metav1.Time{}
	answer := d.getChanges(t, "since=5", "tenant")
	if answer.FQDN != "example.org." || answer.Until != 7 || len(answer.Changes) != 1 || len(answer.Changes[0].Added) != 0 || len(answer.Changes[0].Removed) != 1 || answer.Changes[0].Removed[0].FQDN != "www.example.org." || answer.Changes[0].Removed[0].Type != "A" {
		t.Errorf("%+v", answer)
	}
	for _, query := range []string{"since=4", "since=5&until=7", "since=5&form=definition", "since=5&format=text"} {
		d.expectRefusal(t, "/example-org/changes?"+query, "", "tenant", http.StatusGone, "ended")
	}
	d.expectRefusal(t, "/example-org/entries", "", "tenant", http.StatusNotFound, "pending")
}

// A read of zones/entries waits until the server's view has the serial of the Zone object. If that takes too long, the
// answer is 504 with Retry-After, because older content would break the promise of S7.1.
func TestEntries_viewIsLate(t *testing.T) {
	d := openDoor(t, &held{block: true}, nil)
	for _, accept := range []string{"application/json", "text/dns"} {
		header := d.expectRefusal(t, "/example-org/entries", accept, "tenant", http.StatusGatewayTimeout, "has not reached serial 7")
		if header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", header.Get("Retry-After"))
		}
	}
}

func TestEntries_refused(t *testing.T) {
	d := openDoor(t, &held{snapshots: []*fixed{makeExample(7, 0)}}, nil)
	d.expectRefusal(t, "/other/entries", "", "tenant", http.StatusNotFound, `"other" not found`)
	d.expectRefusal(t, "/example-org/entries", "image/png", "tenant", http.StatusNotAcceptable, "text/dns")
	d.expectRefusal(t, "/example-org/entries?format=png", "", "tenant", http.StatusBadRequest, "query parameter format")
	d.expectRefusal(t, "/example-org/entries?form=definition&type=A", "", "tenant", http.StatusBadRequest, "whole of a zone")
	d.expectRefusal(t, "/example-org/entries?form=definition", "text/dns", "tenant", http.StatusNotAcceptable, "application/json")
	d.expectRefusal(t, "/example-org/entries?form=other", "", "tenant", http.StatusBadRequest, "definition")
	d.zone.Status.Serial = 0
	d.expectRefusal(t, "/example-org/entries", "", "tenant", http.StatusNotFound, "pending")
}

func TestEntries_concurrencyIsBounded(t *testing.T) {
	views := &held{block: true}
	d := openDoor(t, views, func(s *streams) { s.readSlots, s.viewTimeout = newSlots(1, 1), time.Minute })
	ctx, cancel := context.WithCancel(context.Background())
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, d.URL+"/example-org/entries", nil))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if response, err := http.DefaultClient.Do(req); err == nil {
			response.Body.Close()
		}
	}()
	for d.streams.readSlots.inUse() == 0 {
		time.Sleep(time.Millisecond)
	}
	header := d.expectRefusal(t, "/example-org/entries", "", "tenant", http.StatusTooManyRequests, "try again")
	if header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	cancel()
	<-done
	for d.streams.readSlots.inUse() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// Tenants occupy all slots of zones/entries, or of watches, that they may have. Clients with the right to read all
// zones, such as the primary, have further slots and are served (attack 89).
func TestEntries_tenantsLeaveSlotsForThePrimary(t *testing.T) {
	d := openDoor(t, &held{snapshots: []*fixed{makeExample(7, 1)}}, func(s *streams) { s.readSlots = newSlots(4, 4) })
	for _, path := range []string{"/example-org/entries", "/example-org/changes?watch=true"} {
		slots := d.streams.readSlots
		if strings.Contains(path, "watch") {
			slots = d.streams.watchSlots
		}
		for n := 0; ; n++ {
			if _, refusal := slots.acquire(fmt.Sprint("tenant ", n), false); refusal != nil {
				break
			}
		}
		d.expectRefusal(t, path, "", "tenant", http.StatusTooManyRequests, "try again")
		ctx, cancel := context.WithCancel(t.Context())
		req := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, d.URL+path, nil))(t)
		req.Header.Set("User", "admin")
		response := must.Get(http.DefaultClient.Do(req))(t)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, response.Status)
		}
		cancel()
		response.Body.Close()
	}
}

// With sources=true each entry names the Records from which it comes. These may be in other namespaces, so the option
// needs the right to list Records in all (S1.8).
func TestEntries_sources(t *testing.T) {
	www := func(namespace, object string, values ...string) *v1alpha1.Record {
		record := &v1alpha1.Record{}
		record.Namespace, record.Name = namespace, object
		record.Spec = v1alpha1.RecordSpec{Type: "a", Values: values}
		return record
	}
	mail := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "MX", RData: "10 mail"}}
	mail.Namespace, mail.Name = "dns", "mail"
	d := openDoor(t, &held{snapshots: []*fixed{makeExample(7, 1)}}, func(c *streams) {
		c.Sources = recordsAt{
			name.MustParse("www.example.org."): {www("team-a", "one", "192.0.2.1", "192.0.2.2"), www("team-b", "two", "192.0.2.2")},
			name.MustParse("example.org."):     {mail},
		}
	})
	d.expectRefusal(t, "/example-org/entries?sources=true", "", "tenant", http.StatusForbidden, "list records")
	_, _, body := d.getPage(t, "/example-org/entries?sources=true", "", "admin")
	var got v1alpha1.ZoneEntries
	must.Succeed(t, json.Unmarshal([]byte(body), &got))
	var messages []string
	for _, entry := range got.Entries {
		text := entry.Type + " " + entry.RData + ":"
		for _, ref := range entry.Sources {
			text += " " + ref.Namespace + "/" + ref.Name
		}
		messages = append(messages, text)
	}
	const want = "NS ns1.example.org.:|MX 10 mail.example.org.: dns/mail|A 10.0.0.0:|A 192.0.2.1: team-a/one|A 192.0.2.2: team-a/one team-b/two|A 192.0.2.3:"
	if text := strings.Join(messages[1:], "|"); text != want {
		t.Errorf("sources %s, want %s", text, want)
	}
	d.expectRefusal(t, "/example-org/entries?sources=true&format=text", "", "admin", http.StatusBadRequest, "master file")
}

func TestEntries_flatMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: 200,000 records three times; the memory of the race detector is not the program's")
	}
	const n = 200_000
	d := openDoor(t, &held{snapshots: []*fixed{makeExample(7, n)}}, nil)
	for _, format := range []string{"json", "text", "table"} {
		response := must.Get(http.Get(d.URL + "/example-org/entries?format=" + format))(t)
		var before, during, most runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		buffer, total := make([]byte, 1<<20), int64(0)
		for {
			read, err := io.ReadFull(response.Body, buffer)
			total += int64(read)
			if err != nil {
				break
			}
			runtime.GC()
			runtime.ReadMemStats(&during)
			if during.HeapAlloc > most.HeapAlloc {
				most = during
			}
		}
		response.Body.Close()
		if total < n*30 {
			t.Fatalf("%s: only %d octets", format, total)
		}
		if most.HeapAlloc > before.HeapAlloc+uint64(total)/2 {
			t.Errorf("%s: %d octets alive before, %d during a stream of %d", format, before.HeapAlloc, most.HeapAlloc, total)
		}
	}
}

type failing struct{}

func (failing) RecordsAt(_ context.Context, _ *v1alpha1.Zone, owner name.Name) ([]*v1alpha1.Record, error) {
	if owner == name.MustParse("www.example.org.") {
		return nil, errors.New("the records are out of reach")
	}
	return nil, nil
}

func TestEntries_breaksOffVisibly(t *testing.T) {
	d := openDoor(t, &held{snapshots: []*fixed{makeExample(7, 5000)}}, func(c *streams) { c.Sources = failing{} })
	d.Config.ErrorLog = log.New(io.Discard, "", 0)
	req := must.Get(http.NewRequest(http.MethodGet, d.URL+"/example-org/entries?sources=true", nil))(t)
	req.Header.Set("User", "admin")
	response := must.Get(http.DefaultClient.Do(req))(t)
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); response.StatusCode != http.StatusOK || err == nil {
		t.Errorf("%d and %d octets that look whole", response.StatusCode, len(body))
	}
}

func makeHistory() *held {
	header := makeExample(7, 0).header
	later := header
	later.TTL = 60
	www := name.MustParse("www.example.org.")
	return &held{
		snapshots: []*fixed{makeExample(7, 0)},
		steps: []content.Step{
			{N: 5, Serial: 6, Time: 1700000000, By: "alice", Record: &content.RecordRef{Namespace: "team-a", Name: "one", UID: "u"},
				Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
				Added: []content.Row{{Owner: name.MustRel("www"), Type: rdata.A, Data: "192.0.2.3"}},
				TTLs:  []content.TTLChange{{Owner: name.MustRel("www"), Type: rdata.A, After: &content.TTL{Explicit: true, Seconds: 60}}}},
			{N: 6, Serial: 7, HeaderBefore: &header, HeaderAfter: &later},
		},
		changes: []dns.Change{
			{From: 5, To: 6, Added: []dns.Entry{{Name: www, Type: rdata.A, TTL: 60, Data: "192.0.2.3"}}},
			{From: 6, To: 7, Removed: []dns.Entry{{Name: www, Type: rdata.A, TTL: 360, Data: "192.0.2.1"}}, Added: []dns.Entry{{Name: www, Type: rdata.A, TTL: 60, Data: "192.0.2.1"}}},
		},
	}
}

func (d *door) getChanges(t *testing.T, query, as string) v1alpha1.ZoneChanges {
	t.Helper()
	code, _, body := d.getPage(t, "/example-org/changes?"+query, "application/json", as)
	var out v1alpha1.ZoneChanges
	if err := json.Unmarshal([]byte(body), &out); code != http.StatusOK || err != nil {
		t.Fatalf("%s: %d %v %s", query, code, err, body)
	}
	return out
}

func TestChanges(t *testing.T) {
	d := openDoor(t, makeHistory(), func(c *streams) { c.Sources = recordsAt{} })
	got := d.getChanges(t, "since=5", "tenant")
	if got.Kind != "ZoneChanges" || got.Since != 5 || got.Until != 7 || len(got.Changes) != 2 {
		t.Fatalf("changes %+v", got)
	}
	first := got.Changes[0]
	if first.From != 5 || first.To != 6 || first.Added[0].RData != "192.0.2.3" || first.Time.Unix() != 1700000000 {
		t.Errorf("change %+v", first)
	}
	if step := d.getChanges(t, "since=5&form=definition", "tenant").Steps[0]; first.By+first.Traceparent+step.Traceparent != "" ||
		first.Record != nil {
		t.Error("S1.8: every user sees the author")
	}
	if one := d.getChanges(t, "since=5&until=6", "tenant"); len(one.Changes) != 1 || one.Until != 6 {
		t.Errorf("until: %+v", one)
	}
	if none := d.getChanges(t, "since=7", "tenant"); len(none.Changes) != 0 || none.Until != 7 {
		t.Errorf("nothing since: %+v", none)
	}
	reported := d.getChanges(t, "since=5&sources=true", "admin").Changes[0]
	if reported.By != "alice" || reported.Record == nil || reported.Record.Namespace != "team-a" || len(reported.Traceparent) != 55 {
		t.Errorf("sources %+v", reported)
	}
	if step := d.getChanges(t, "since=5&form=definition&sources=true", "admin").Steps[0]; step.Traceparent != reported.Traceparent {
		t.Errorf("sources of a step %+v", step)
	}
	for _, form := range []string{"entries", "definition", "history"} {
		d.expectRefusal(t, "/example-org/changes?since=5&sources=true&form="+form, "", "tenant", http.StatusForbidden, "list records")
	}
	if held := d.getChanges(t, "", "tenant"); held.Since != 5 || held.Until != 7 || len(held.Changes) != 2 {
		t.Errorf("without since: %+v, want all that is held", held)
	}
	d.expectRefusal(t, "/example-org/changes?since=4294967296", "", "tenant", http.StatusBadRequest, "since")
	d.expectRefusal(t, "/example-org/changes?since=3", "", "tenant", http.StatusGone, "serial 3 of zone example.org. "+
		"is no longer kept here: start again from zones/entries")
	d.expectRefusal(t, "/example-org/changes?since=3&until=6", "", "tenant", http.StatusGone, "from serial 3 (since) to serial 6 (until)")
}

// kubectl accepts a Table or, if there is none, JSON. zones/changes then answers with a Table, a row for each change;
// with sources, which a Table has no column for, with JSON.
func TestChanges_table(t *testing.T) {
	d := openDoor(t, makeHistory(), func(c *streams) { c.Sources = recordsAt{} })
	const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	_, _, body := d.getPage(t, "/example-org/changes", accept, "tenant")
	var table metav1.Table
	if err := json.Unmarshal([]byte(body), &table); err != nil || table.Kind != "Table" {
		t.Fatalf("%v: %s", err, body)
	}
	var got []string
	for _, row := range table.Rows {
		if len(row.Cells) != len(table.ColumnDefinitions) {
			t.Errorf("%d cells in %d columns", len(row.Cells), len(table.ColumnDefinitions))
		}
		got = append(got, strings.TrimSpace(fmt.Sprintln(row.Cells[:7]...)))
	}
	want := []string{
		"6 + www.example.org. 60 IN A 192.0.2.3",
		"7 - www.example.org. 360 IN A 192.0.2.1",
		"7 + www.example.org. 60 IN A 192.0.2.1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows %q", got)
	}
	// Sources need the form that has them.
	if _, _, body := d.getPage(t, "/example-org/changes?sources=true", accept, "admin"); !strings.Contains(body, `"ZoneChanges"`) {
		t.Errorf("with sources: %s", body)
	}
}
