// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/test/must"
)

type bridge struct {
	*running
	url string
}

var servingExternalDNS = regexp.MustCompile(`(?m)^ready: serving external-dns on (\S+)`)

// The teams may write into example.org and 2.0.192.in-addr.arpa.
func runBridge(t *testing.T, args ...string) *bridge {
	t.Helper()
	b := &bridge{running: runUp(t, t.TempDir())}
	rules := func(patterns ...string) (rules []v1alpha1.DelegationRule) {
		for _, team := range []string{"team-a", "team-b"} {
			rule := v1alpha1.DelegationRule{Namespace: team}
			for _, pattern := range patterns {
				rule.Records = append(rule.Records, v1alpha1.RecordDelegation{Pattern: strings.ReplaceAll(pattern, "TEAM", team[5:])})
			}
			rules = append(rules, rule)
		}
		return rules
	}
	for name, rules := range map[string][]v1alpha1.DelegationRule{
		"example.org.": append(rules("TEAM", "*.TEAM"), v1alpha1.DelegationRule{Namespaces: []string{"team-a", "team-b"},
			Records: []v1alpha1.RecordDelegation{{Pattern: "*.shared", Shared: true}, {Pattern: "shared", Shared: true}}}),
		"2.0.192.in-addr.arpa.": rules("*"),
	} {
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns",
			Name: strings.ReplaceAll(strings.TrimSuffix(name, "."), ".", "-")}, Spec: v1alpha1.ZoneSpec{DomainName: name,
			NameServers: []v1alpha1.NameServer{{Name: "ns1.example.org.", Addresses: nil}}, Delegations: rules}}
		if name == "example.org." {
			zone.Spec.NameServers[0] = v1alpha1.NameServer{Name: "ns1", Addresses: []string{"192.0.2.53"}}
		}
		must.Get(b.client.KubizoneV1alpha1().Zones("dns").Create(t.Context(), zone, metav1.CreateOptions{}))(t)
	}
	args = append([]string{"external-dns", "-v=1", "--kubeconfig", filepath.Join(b.dir, "kubeconfig"), "--listen", "127.0.0.1:0",
		"--health-listen", "127.0.0.1:0"}, args...)
	p := must.Get(startProcess(t.TempDir(), os.Environ(), binaries.kubizone, args...))(t)
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Log(p.Log())
		}
	})
	must.Succeed(t, p.waitLine(servingExternalDNS))
	b.url = servingExternalDNS.FindStringSubmatch(p.Log())[1]
	return b
}

func (b *bridge) sendRequest(method, path, mediaType string, body any) (int, []byte) {
	b.t.Helper()
	text, raw := body.([]byte)
	if !raw && body != nil {
		text = must.Get(json.Marshal(body))(b.t)
	}
	request := must.Get(http.NewRequestWithContext(b.t.Context(), method, b.url+path, bytes.NewReader(text)))(b.t)
	request.Header.Set("Accept", mediaType)
	request.Header.Set("Content-Type", mediaType)
	response := must.Get(http.DefaultClient.Do(request))(b.t)
	defer response.Body.Close()
	answer := must.Get(io.ReadAll(response.Body))(b.t)
	return response.StatusCode, answer
}

func (b *bridge) readEndpoints(method, path string, body any) []*contract.Endpoint {
	b.t.Helper()
	code, answer := b.sendRequest(method, path, contract.MediaType, body)
	if code != http.StatusOK {
		b.t.Fatalf("%s %s: %d %s", method, path, code, answer)
	}
	return must.Get(contract.ReadEndpoints(bytes.NewReader(answer)))(b.t)
}

func planChanges(current, desired []*contract.Endpoint) (c contract.Changes) {
	byKey := func(all []*contract.Endpoint) map[contract.Key]*contract.Endpoint {
		found := map[contract.Key]*contract.Endpoint{}
		for _, e := range all {
			if key, err := e.Key(); err == nil {
				found[key] = e
			}
		}
		return found
	}
	old, wanted := byKey(current), byKey(desired)
	for key, e := range old {
		if wanted[key] == nil {
			c.Delete = append(c.Delete, e)
		}
	}
	for key, e := range wanted {
		switch is := old[key]; {
		case is == nil:
			c.Create = append(c.Create, e)
		case e.RecordTTL > 0 && e.RecordTTL != is.RecordTTL || !slices.Equal(slices.Sorted(slices.Values(e.Targets)),
			slices.Sorted(slices.Values(is.Targets))):
			c.UpdateOld, c.UpdateNew = append(c.UpdateOld, is), append(c.UpdateNew, e)
		}
	}
	return c
}

func (b *bridge) runCycle(endpoints ...*contract.Endpoint) int {
	b.t.Helper()
	changes := planChanges(b.readEndpoints("GET", "/records", nil), b.readEndpoints("POST", "/adjustendpoints", endpoints))
	if len(changes.Create)+len(changes.UpdateNew)+len(changes.Delete) == 0 {
		return 0
	}
	code, _ := b.sendRequest("POST", "/records", contract.MediaType, changes)
	return code
}

func endpointOf(text string) *contract.Endpoint {
	words := strings.Fields(text)
	e := &contract.Endpoint{DNSName: words[1] + ".example.org", RecordType: words[2], Targets: strings.Split(words[3], ",")}
	if words[0] != "-" {
		e.Labels = map[string]string{"resource": words[0]}
	} else {
		e.DNSName = words[1]
	}
	return e
}

func (b *bridge) versionsOf() map[string]string {
	b.t.Helper()
	versions := map[string]string{}
	for _, r := range must.Get(b.client.KubizoneV1alpha1().Records("").List(b.t.Context(), metav1.ListOptions{}))(b.t).Items {
		versions[r.Namespace+"/"+r.Name] = fmt.Sprint(r.ResourceVersion, r.Generation, r.Spec)
	}
	return versions
}

func (b *bridge) readContents() string {
	b.t.Helper()
	var lines []string
	for _, r := range must.Get(b.client.KubizoneV1alpha1().Records("").List(b.t.Context(), metav1.ListOptions{}))(b.t).Items {
		lines = append(lines, fmt.Sprint(r.Namespace, " ", strings.TrimSuffix(r.Spec.DomainName, ".example.org."), " ", r.Spec.Type, " ",
			strings.Join(append(r.Spec.Values, r.Spec.RData), "")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// Refused endpoints are left out and hold up no others, valid endpoints are written in the first cycle, and when a name
// changes its type, old and new RRsets are exchanged in the same cycle.
func TestExternalDNS_byCycles(t *testing.T) {
	t.Parallel()
	b := runBridge(t)
	www, api := "ingress/team-a/web www.a A 192.0.2.1", "service/team-b/api api.b CNAME lb.example.net"
	stolen := "crd/team-b/evil www.a A 203.0.113.6"
	strange := "crd/team-a/x www.a.example.com A 192.0.2.1"
	for i, step := range []struct {
		wanted []string
		code   int
		then   string
	}{
		{[]string{www, api, stolen, strange}, 204, "team-a www.a A 192.0.2.1; team-b api.b CNAME lb.example.net."},
		{[]string{stolen, api, www}, 0, "team-a www.a A 192.0.2.1; team-b api.b CNAME lb.example.net."},
		{[]string{"ingress/team-a/web www.a A 192.0.2.1,192.0.2.2", api}, 204,
			"team-a www.a A 192.0.2.1192.0.2.2; team-b api.b CNAME lb.example.net."},
		{[]string{"ingress/team-a/web www.a A nonsense", api}, 0, // a refused target removes nothing
			"team-a www.a A 192.0.2.1192.0.2.2; team-b api.b CNAME lb.example.net."},
		{[]string{"service/team-b/api api.b A 192.0.2.9", "service/team-b/api api.b AAAA 2001:db8::9"}, 204,
			"team-b api.b A 192.0.2.9; team-b api.b AAAA 2001:db8::9"},
		{[]string{"service/team-b/api api.b A 192.0.2.9", "- 9.2.0.192.in-addr.arpa PTR api.b.example.org"}, 204,
			"team-b 9.2.0.192.in-addr.arpa. PTR api.b.example.org.; team-b api.b A 192.0.2.9"},
		{nil, 204, ""},
		{nil, 0, ""},
	} {
		var endpoints []*contract.Endpoint
		for _, text := range step.wanted {
			endpoints = append(endpoints, endpointOf(text))
		}
		if code := b.runCycle(endpoints...); code != step.code {
			t.Fatalf("step %d: %d, want %d", i, code, step.code)
		}
		if then := b.readContents(); then != step.then {
			t.Fatalf("step %d: %s", i, then)
		}
	}
}

// A tenant creates a Record by hand, with the label of external-dns and another tenant's resource. It is neither listed
// to external-dns nor deleted, and an object that has the name we need is not taken over (E1).
func TestExternalDNS_takesOverNothing(t *testing.T) {
	t.Parallel()
	b := runBridge(t)
	forge := func(name, fqdn string) {
		must.Get(b.client.KubizoneV1alpha1().Records("team-b").Create(t.Context(), &v1alpha1.Record{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelExternalDNS: "default"},
				Annotations: map[string]string{v1alpha1.AnnotationExternalDNSResource: "ingress/team-a/web"}},
			Spec: v1alpha1.RecordSpec{DomainName: fqdn, Type: "A", Values: []string{"203.0.113.6"}}},
			metav1.CreateOptions{FieldManager: "kubectl-create"}))(t)
	}
	forge("forged", "forged.b.example.org.")
	forge("ext--taken.b.example.org-a.default", "other.b.example.org.")
	before := b.versionsOf()
	if all := b.readEndpoints("GET", "/records", nil); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if code := b.runCycle(endpointOf("ingress/team-b/web taken.b A 192.0.2.1")); code != 0 {
		t.Errorf("it answered %d", code)
	}
	// The explicit deletion of an unlisted Record has no effect.
	code, _ := b.sendRequest("POST", "/records", contract.MediaType, contract.Changes{
		Delete: []*contract.Endpoint{endpointOf("ingress/team-b/web forged.b A 203.0.113.6")}})
	if code != http.StatusNoContent || !maps.Equal(before, b.versionsOf()) {
		t.Errorf("%d, %v", code, b.versionsOf())
	}
}

// An endpoint's resource label may be forged. Updates and deletions therefore apply in the namespace of the existing
// Record, not in that of the label (E1).
func TestExternalDNS_followsNoLabel(t *testing.T) {
	t.Parallel()
	b := runBridge(t)
	if code := b.runCycle(endpointOf("ingress/team-a/web x.shared A 192.0.2.1")); code != 204 {
		t.Fatal(code)
	}
	before := b.readContents()
	forged := endpointOf("ingress/team-b/web x.shared A 203.0.113.6")
	code, _ := b.sendRequest("POST", "/records", contract.MediaType, contract.Changes{
		UpdateOld: []*contract.Endpoint{endpointOf("ingress/team-a/web x.shared A 192.0.2.1")},
		UpdateNew: []*contract.Endpoint{forged}})
	if code != http.StatusNoContent || b.readContents() != before {
		t.Errorf("%d: %s", code, b.readContents())
	}
	code, _ = b.sendRequest("POST", "/records", contract.MediaType, contract.Changes{Delete: []*contract.Endpoint{forged}})
	if code != http.StatusNoContent || b.readContents() != "" {
		t.Errorf("%d: %s", code, b.readContents())
	}
}

// A tenant creates a Record that is in no zone yet, with our field manager and label, for another tenant's host. When
// the zone exists, the other tenant's endpoint is written nevertheless (E1).
func TestExternalDNS_isNotBlockedByWhatNoZoneTakes(t *testing.T) {
	t.Parallel()
	b := runBridge(t)
	forge := func() error {
		_, err := b.client.KubizoneV1alpha1().Records("team-b").Create(t.Context(), &v1alpha1.Record{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "forged-", Labels: map[string]string{v1alpha1.LabelExternalDNS: "default"}},
			Spec:       v1alpha1.RecordSpec{DomainName: "late.example.net.", Type: "A", Values: []string{"192.0.2.1"}}},
			metav1.CreateOptions{FieldManager: "kubizone-external-dns"})
		return err
	}
	must.Succeed(t, forge())
	must.Get(b.client.KubizoneV1alpha1().Zones("dns").Create(t.Context(), &v1alpha1.Zone{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "late"}, Spec: v1alpha1.ZoneSpec{DomainName: "example.net.",
			NameServers: []v1alpha1.NameServer{{Name: "ns1.example.org."}},
			Delegations: []v1alpha1.DelegationRule{{Namespace: "team-a", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}}}},
		metav1.CreateOptions{}))(t)
	wanted := endpointOf("ingress/team-a/web - A 192.0.2.1")
	wanted.DNSName = "late.example.net"
	for range 2 { // the first cycle removes the forged Record
		if code := b.runCycle(wanted); code != 204 {
			t.Fatal(code, b.readContents())
		}
	}
	if has := b.readContents(); has != "team-a late.example.net. A 192.0.2.1" {
		t.Error(has)
	}
	if err := forge(); err == nil {
		t.Error("it is let in where the zone is")
	}
	if code := b.runCycle(wanted); code != 0 {
		t.Error(code, b.readContents())
	}
}

// The registry of external-dns stores TXT records beside each name. They are returned to external-dns, but kept in an
// annotation of the Record and not in the zone, and deleted with the last Record of the name.
func TestExternalDNS_keepsTheTextsOfTheRegistry(t *testing.T) {
	t.Parallel()
	b := runBridge(t)
	www := endpointOf("ingress/team-a/web www.a A 192.0.2.1")
	text := &contract.Endpoint{DNSName: "a-www.a.example.org", RecordType: "TXT", Targets: []string{`"heritage=external-dns,x"`},
		Labels: map[string]string{"ownedRecord": "www.a.example.org"}}
	code, answer := b.sendRequest("POST", "/records", contract.MediaType,
		contract.Changes{Create: []*contract.Endpoint{www, text}})
	if code != http.StatusNoContent {
		t.Fatalf("%d %s", code, answer)
	}
	all := b.readEndpoints("GET", "/records", nil)
	if len(all) != 2 || all[0].RecordType != "TXT" || all[0].DNSName != text.DNSName || all[0].Targets[0] != text.Targets[0] {
		t.Errorf("%+v", all)
	}
	if has := b.readContents(); has != "team-a www.a A 192.0.2.1" {
		t.Error(has)
	}
	// A registry text kept by another type at the name is not written again, and goes with the last Record.
	six := endpointOf("ingress/team-a/web www.a AAAA 2001:db8::1")
	for i, changes := range []contract.Changes{
		{Create: []*contract.Endpoint{six}}, {Delete: []*contract.Endpoint{www, text}},
		{Create: []*contract.Endpoint{www}}, {Delete: []*contract.Endpoint{six}},
	} {
		code, answer := b.sendRequest("POST", "/records", contract.MediaType, changes)
		if all := b.readEndpoints("GET", "/records", nil); code != http.StatusNoContent || all[0].DNSName != text.DNSName {
			t.Errorf("step %d: %d %s, %+v", i, code, answer, all)
		}
	}
	code, _ = b.sendRequest("POST", "/records", contract.MediaType, contract.Changes{Delete: []*contract.Endpoint{www, text}})
	if code != http.StatusNoContent || b.readContents() != "" {
		t.Errorf("%d %s", code, b.readContents())
	}
}

// The annotation with registry texts on a tenant's Record must not make external-dns believe that another tenant's TXT
// record exists: texts are used for the registry only (E1).
func TestExternalDNS_isNotDeceivedByTexts(t *testing.T) {
	t.Parallel()
	b := runBridge(t)
	evil, wanted := endpointOf("ingress/team-b/web www.b A 192.0.2.2"), endpointOf(`ingress/team-a/web www.a TXT "v=spf1"`)
	if code := b.runCycle(evil); code != 204 {
		t.Fatal(code)
	}
	records := b.client.KubizoneV1alpha1().Records("team-b")
	r := &must.Get(records.List(t.Context(), metav1.ListOptions{}))(t).Items[0]
	r.Annotations[v1alpha1.AnnotationExternalDNSTexts] = `{"www.a.example.org":"\"v=spf1\""}`
	must.Get(records.Update(t.Context(), r, metav1.UpdateOptions{}))(t)
	code := b.runCycle(evil, wanted)
	if has := b.readContents(); code != 204 || has != `team-a www.a TXT "v=spf1"; team-b www.b A 192.0.2.2` {
		t.Error(code, has)
	}
}

// external-dns exits when a request gets another status than 200, 204 or 5xx. So wrong bodies are answered with 500;
// only a wrong protocol version or media type gets 4xx (E3). TestRun_whileTheServerIsAway is of a missing API server.
func TestExternalDNS_answersAsTheProtocolSays(t *testing.T) {
	t.Parallel()
	b := runBridge(t)
	for _, c := range []struct {
		method, path, mediaType string
		body                    any
		code                    int
	}{
		{"GET", "/", contract.MediaType, nil, 200},
		{"GET", "/records", contract.MediaType, nil, 200},
		{"POST", "/adjustendpoints", contract.MediaType, []byte("null"), 200},
		{"POST", "/records", contract.MediaType, []byte("{}"), 204},
		{"POST", "/records", contract.MediaType, []byte("{"), 500},
		{"POST", "/adjustendpoints", contract.MediaType, []byte(`{"a":1}`), 500},
		{"POST", "/adjustendpoints", contract.MediaType, bytes.Repeat([]byte(" "), contract.MaxBody+1), 500},
		{"POST", "/records", contract.MediaType, contract.Changes{
			Create: []*contract.Endpoint{endpointOf("ingress/team-b/web www.a A 192.0.2.1")}}, 204},
		{"GET", "/", "application/external.dns.webhook+json;version=2", nil, 406},
		{"POST", "/records", "application/json", []byte("{}"), 415},
	} {
		if code, answer := b.sendRequest(c.method, c.path, c.mediaType, c.body); code != c.code {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.mediaType, code, answer, c.code)
		}
	}
}
