// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/verify"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func (a *api) makeClass(name string, spec v1alpha1.DNSClassSpec) {
	a.t.Helper()
	spec.AllowLocalAddresses, spec.Namespaces = true, &v1alpha1.NamespaceSelection{Names: []string{"a"}}
	must.Get(a.KubizoneV1alpha1().DNSClasses().Create(a.t.Context(), &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: spec}, metav1.CreateOptions{}))(a.t)
}

func (a *api) deliverZone(classes ...string) {
	a.t.Helper()
	var refs []v1alpha1.DNSClassReference
	for _, class := range classes {
		refs = append(refs, v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: class})
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"dnsClassRefs": refs}})
	if err == nil {
		_, err = a.KubizoneV1alpha1().Zones("a").Patch(a.t.Context(), "org", apitypes.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *api) verifyUntil(what string, ends func(err error, servers map[string]line) bool, arguments ...string) map[string]line {
	a.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		out, err := a.runVerify(append(arguments, "-o", "json")...)
		var result struct{ Servers []line }
		servers := map[string]line{}
		if json.Unmarshal([]byte(out), &result) == nil {
			for _, server := range result.Servers {
				servers[server.Server] = server
			}
			if ends(err, servers) {
				return servers
			}
		}
		if time.Now().After(deadline) {
			a.t.Fatalf("never: %s; last: %v\n%s", what, err, out)
		}
	}
}

type line struct {
	Server, State, By, Error string
	Missing, Foreign         []struct{ Name, Type string }
	Differing                []struct{ Server struct{ Name, Type string } }
}

// writeSecret makes the Secret of a class's key in a directory of --secrets-dir.
func writeSecret(t *testing.T, dir, class string, key rig.TSIGKey) {
	t.Helper()
	must.WriteFile(t, filepath.Join(dir, "dns", class, "name"), key.Name)
	must.WriteFile(t, filepath.Join(dir, "dns", class, "secret"), key.Secret)
}

// startUpdated returns a server that takes updates of the zone by the key.
func startUpdated(t *testing.T) string {
	t.Helper()
	const empty = "example.org. 60 IN SOA ns.example.net. hostmaster.example.org. 1 3600 600 86400 60\n" +
		"example.org. 60 IN NS ns.example.net.\n"
	primaries := []rig.PrimaryZone{{Zone: "example.org.", Text: empty, UpdateKey: key.Name}}
	return rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{key}, Primaries: primaries}))(t).Addr.String()
}

func (a *api) makeUpdateClass(server string) {
	a.t.Helper()
	a.makeClass("update", v1alpha1.DNSClassSpec{RFC2136: &v1alpha1.RFC2136Provider{Server: server,
		TSIGSecretRef: v1alpha1.SecretReference{Namespace: "dns", Name: "update"}, ForeignRecords: v1alpha1.ForeignRecordsReplace}})
}

// Without named servers, verify finds the secondaries, update servers and webhooks of the classes. A manual change at
// a server shows, with exit code 1.
func TestVerify_asksWhatTheZoneIsDeliveredTo(t *testing.T) {
	dns := must.Get(rig.FreePort())(t)
	secrets := t.TempDir()
	writeSecret(t, secrets, "update", key)
	a := startAPI(t, func(o *up.Options) { o.DNSListen, o.SecretsDir = dns.String(), secrets })
	secondaries := []rig.SecondaryZone{{Zone: "example.org.", Primary: dns}}
	secondary := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Secondaries: secondaries}))(t)
	updated := startUpdated(t)

	a.makeClass("second", v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: secondary.Addr.String()}}}})
	a.deliverZone("second")
	a.verifyUntil("the secondary has the zone", func(err error, servers map[string]line) bool {
		one, ok := servers[secondary.Addr.String()]
		return err == nil && ok && len(servers) == 1 && one.State == "Current" && one.By == "transfer"
	})

	a.makeUpdateClass(updated)
	a.deliverZone("second", "update")
	// The primary behind an update has its own serial and name servers.
	a.verifyUntil("both have the zone's records", func(err error, servers map[string]line) bool {
		one, ok := servers[updated]
		return err == nil && ok && len(servers) == 2 && one.State == "Current"
	})

	removeRecord(t, updated)
	tampered := a.verifyUntil("what was changed at a server by hand", func(err error, servers map[string]line) bool {
		return err == verify.ErrDifferent && len(servers[updated].Missing) == 1
	})
	if one := tampered[updated]; one.Missing[0].Name != "alias.example.org." {
		t.Errorf("%+v", one)
	}

	closed := must.Get(rig.FreePort())(t)
	a.makeClass("hook", v1alpha1.DNSClassSpec{Webhook: &v1alpha1.WebhookProvider{Server: fmt.Sprintf("http://%s", closed)}})
	a.deliverZone("second", "hook")
	servers := a.verifyUntil("a webhook that is not there", func(err error, servers map[string]line) bool {
		return err == verify.ErrDifferent && servers["hook"].State == "Failed"
	})
	if one := servers["hook"]; one.By != "requests" || one.Error == "" || strings.Contains(one.Error, key.Secret) || servers[secondary.Addr.String()].State != "Current" {
		t.Errorf("%+v", servers)
	}
}

// The servers of a class of the kind bind9 are its Bind9Instances. `verify` asks each at its address. If an instance
// has no address, `verify` shows what the Delivery says about it.
func TestVerify_asksTheInstancesOfAClass(t *testing.T) {
	dns := must.Get(rig.FreePort())(t)
	a := startAPI(t, func(o *up.Options) { o.DNSListen = dns.String() })
	secondaries := []rig.SecondaryZone{{Zone: "example.org.", Primary: dns}}
	secondary := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Secondaries: secondaries}))(t)
	for name, spec := range map[string]bind9.Bind9InstanceSpec{
		"there": {Role: bind9.RoleSecondary, External: &bind9.ExternalServer{
			Address: secondary.Addr.String(), AgentURL: "https://192.0.2.1:8443", TokenSecretRef: &bind9.SecretKeyReference{Name: "token", Key: "token"},
		}},
		"not-there": {Role: bind9.RoleSecondary},
	} {
		must.Get(a.Bind9V1alpha1().Bind9Instances("a").Create(t.Context(), &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{}))(t)
	}
	a.makeClass("fleet", v1alpha1.DNSClassSpec{Bind9: &v1alpha1.Bind9Provider{
		CatalogZone: "catalog.example.net.", InstancesFrom: []v1alpha1.Bind9InstanceSelection{{Namespaces: []string{"a"}}},
	}})
	a.deliverZone("fleet")
	servers := a.verifyUntil("both instances have a line", func(err error, servers map[string]line) bool {
		return err != nil && servers[secondary.Addr.String()].State == "Current" && servers["fleet/a/not-there"].State == "Behind"
	})
	if one := servers[secondary.Addr.String()]; one.By != "transfer" || len(servers) != 2 {
		t.Errorf("%+v", servers)
	}
}

// hooked is a webhook server without extensions.
type hooked struct {
	*httptest.Server
	mu      sync.Mutex
	records map[string]protocol.Record
	// silent removes GET for records.
	silent bool
}

func startHook(t *testing.T) *hooked {
	t.Helper()
	h := &hooked{records: map[string]protocol.Record{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		yes := true
		answer := func(status int, value any) {
			body, err := protocol.Marshal(value)
			if err != nil {
				t.Error(err)
			}
			w.WriteHeader(status)
			w.Write(body)
		}
		at := strings.TrimPrefix(request.URL.Path, "/records/")
		switch request.Method {
		case http.MethodPost:
			var asked protocol.Request
			if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			h.records[asked.Record.Type+"/"+asked.Record.Domain+"/"+asked.Record.Subdomain] = asked.Record
			answer(200, protocol.Response{Success: &yes})
		case http.MethodDelete:
			delete(h.records, at)
			answer(200, protocol.Response{Success: &yes})
		default:
			record, ok := h.records[at]
			switch {
			case request.URL.Path == protocol.HealthPath:
				answer(200, protocol.Health{Status: protocol.Healthy})
			case h.silent:
				http.NotFound(w, request)
			case !ok:
				no := false
				answer(404, protocol.Response{Success: &no, Error: protocol.Refuse(protocol.CodeRecordNotFound, "none")})
			default:
				answer(200, protocol.Response{Success: &yes, Record: &record})
			}
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hooked) changeRecords(with func(map[string]protocol.Record)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	with(h.records)
}

// Found 4: a webhook is asked for each RRset. Beside a record that the protocol cannot express, a lost or changed
// RRset shows. A server that cannot list, or may not be asked, is never Current.
func TestVerify_asksWebhooks(t *testing.T) {
	a := startAPI(t)
	server := startHook(t)
	a.makeClass("hook", v1alpha1.DNSClassSpec{Webhook: &v1alpha1.WebhookProvider{Server: server.URL}})
	a.deliverZone("hook")
	a.verifyUntil("all of it is there", func(err error, servers map[string]line) bool {
		return err == nil && len(servers) == 1 && servers["hook"].State == "Current" && servers["hook"].By == "requests"
	})
	a.makeRecord("two", v1alpha1.RecordSpec{DomainName: "two.example.org.", Type: "MX", Values: []string{"10 a.example.net.",
		"20 b.example.net."}})
	server.changeRecords(func(records map[string]protocol.Record) {
		delete(records, "A/example.org/www")
		txt := records["TXT/example.org/txt"]
		txt.Values = []string{"another"}
		records["TXT/example.org/txt"] = txt
	})
	found := a.verifyUntil("what is not as it should be", func(err error, servers map[string]line) bool {
		return err == verify.ErrDifferent && servers["hook"].State == "Differs"
	})["hook"]
	var names []string
	for _, set := range found.Missing {
		names = append(names, set.Name+" "+set.Type)
	}
	if !slices.Equal(names, []string{"www.example.org. A", "two.example.org. MX"}) || len(found.Differing) != 1 || !strings.Contains(found.Error, "has no form for 1 of those that are missing") {
		t.Errorf("%+v", found)
	}
	out, _ := a.runVerify()
	must.Say(t, out, "hook    Differs", "missing www.example.org. A:", "differs from the zone's txt.example.org. TXT:",
		"missing two.example.org. MX:")
	server.mu.Lock()
	server.silent = true
	server.mu.Unlock()
	if one := a.verifyUntil("a server that cannot say", func(err error, servers map[string]line) bool {
		return err == verify.ErrUnanswered && servers["hook"].State == "Unknown"
	})["hook"]; one.By != "delivery" || !strings.Contains(one.Error, "does not answer GET") || !strings.Contains(one.Error, "has no form for 1 of them") {
		t.Errorf("%+v", one)
	}
	out, err := a.runVerify()
	if !errors.Is(err, verify.ErrUnanswered) || !regexp.MustCompile(`hook +\? +\? +\? +\? +\? +delivery`).MatchString(out) {
		t.Errorf("%v\n%s", err, out)
	}
}

func removeRecord(t *testing.T, server string) {
	t.Helper()
	m := new(mdns.Msg)
	m.SetUpdate("example.org.")
	m.RemoveRRset([]mdns.RR{&mdns.CNAME{Hdr: mdns.RR_Header{Name: "alias.example.org.", Rrtype: mdns.TypeCNAME, Class: mdns.ClassINET}}})
	m.SetTsig(key.Name+".", mdns.HmacSHA256, 300, time.Now().Unix())
	answer, _, err := (&mdns.Client{Net: "tcp", TsigSecret: map[string]string{key.Name + ".": key.Secret}}).Exchange(m, server)
	if err != nil || answer.Rcode != mdns.RcodeSuccess {
		t.Fatalf("%v: %v", err, answer)
	}
}

// Servers of two classes allow transfers by different TSIG keys. `verify` signs with the key of each class; without a
// key it has to query each RRset. It prints no key.
func TestVerify_signsWithTheKeyOfEachClass(t *testing.T) {
	secrets := t.TempDir()
	a := startAPI(t, func(o *up.Options) { o.SecretsDir = secrets })
	zone := a.exportZone()
	servers := map[string]string{}
	for class, secret := range map[string]string{"one": key.Secret, "two": "YW5vdGhlciBuaWNlIGtleSBmb3IgdGhlIHNlY29uZCE="} {
		key := rig.TSIGKey{Name: class + ".example", Algorithm: "hmac-sha256", Secret: secret}
		writeSecret(t, secrets, class, key)
		servers[class] = startKnot(t, zone, &key)
		a.makeClass(class, v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{
			Secondaries: []v1alpha1.Secondary{{Address: servers[class]}}, TSIGSecretRef: &v1alpha1.SecretReference{Namespace: "dns", Name: class},
		}})
	}
	a.deliverZone("one", "two")
	by := func(how string, arguments ...string) {
		t.Helper()
		a.verifyUntil("asked by "+how, func(_ error, lines map[string]line) bool {
			return len(lines) == 2 && lines[servers["one"]].By == how && lines[servers["two"]].By == how
		}, arguments...)
	}
	by("transfer", "--secrets-dir", secrets)
	by("questions")
	out, _ := a.runVerify("--secrets-dir", secrets, "-o", "text")
	if strings.Contains(out, key.Secret) || !strings.Contains(out, servers["one"]) {
		t.Errorf("%s", out)
	}
}
