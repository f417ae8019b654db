// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/test/must"
)

// newTenant returns the client of a tenant, who may read the Records of its namespace alone.
func newTenant(records ...*v1alpha1.Record) *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetResource().Resource == "records" && action.GetNamespace() == "team" {
			switch asked := action.(type) {
			case clienttesting.GetAction:
				for _, r := range records {
					if r.Name == asked.GetName() {
						return true, r, nil
					}
				}
				return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "records"}, asked.GetName())
			case clienttesting.ListAction:
				list := &v1alpha1.RecordList{}
				for _, r := range records {
					if asked.GetListRestrictions().Fields.Matches(fields.Set{v1alpha1.FieldRecordFQDN: r.Status.FQDN,
						v1alpha1.FieldRecordType: r.Spec.Type}) {
						list.Items = append(list.Items, *r)
					}
				}
				return true, list, nil
			}
		}
		return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", errors.New("no right"))
	})
	return client
}

func tenantRecord(object, fqdn, value string) *v1alpha1.Record {
	r := goodFacts().Record
	r.Name, r.Spec.Type, r.Spec.RData, r.Status.FQDN = object, "A", value, fqdn
	return r
}

// answerFrom answers from master files by server. A resolver's has no authority.
func answerFrom(t *testing.T, files map[string]string) func(context.Context, verify.Question) (*verify.Answer, error) {
	return func(_ context.Context, q verify.Question) (*verify.Answer, error) {
		text, known := files[q.Server]
		if !known {
			return nil, fmt.Errorf("no server at %s", q.Server)
		}
		answer := &verify.Answer{RCode: "NOERROR", Authoritative: !q.Recursive}
		for row, err := range zonefile.Read(strings.NewReader(text), zonefile.ReadOptions{Origin: name.Root}) {
			must.Succeed(t, err)
			switch {
			case row.Name == q.Name && row.Type == q.Type:
				answer.Answer = append(answer.Answer, row)
			case row.Type == rdata.SOA && (row.Name == q.Name || row.Name.Encloses(q.Name)):
				answer.Authority = append(answer.Authority, row)
			}
		}
		return answer, nil
	}
}

const (
	soa      = " 60 IN SOA ns.example.org. host.example.org. 7 1 1 1 1\n"
	resolver = "example.org." + soa + "org." + soa + delegation + "ns.example.org. 60 IN A 192.0.2.53\n" +
		"org. 60 IN NS a.org.\na.org. 60 IN A 192.0.2.10\n"
	delegation = "example.org. 60 IN NS ns.example.org.\n"
)

// A tenant asks why a name does not resolve. For objects that it may not read, the chain names the missing right, and
// the servers come from public DNS instead. Without Ask no DNS question is sent (W1).
func TestAsk_hasTheRightsOfATenant_W1(t *testing.T) {
	record := tenantRecord("www", "www.example.org.", "192.0.2.1")
	files := map[string]string{"192.0.2.2:53": resolver, "192.0.2.10:53": delegation,
		"192.0.2.53:53": "example.org." + soa + "www.example.org. 60 IN A 192.0.2.1\n"}
	question := Question{Text: "www.example.org", Namespace: "team", Resolver: "192.0.2.2:53"}
	clients := Clients{API: newTenant(record), Ask: answerFrom(t, files)}
	states := func() (all string) {
		t.Helper()
		chain := must.Get(Ask(t.Context(), clients, question))(t)
		for _, l := range chain.Paths[0].Links {
			all += fmt.Sprintf("%s %s %s\n", l.Kind, l.Of, l.State)
			if l.State == Unknown && !strings.Contains(l.Text, "you lack the right to ") {
				t.Errorf("%+v", l)
			}
		}
		return all
	}
	const objects = "Rule  OK\nRecord team/www OK\nZone example.org. Unknown\nSerial 7 OK\nClass  OK\n"
	if got, want := states(), objects+"Server ns.example.org. OK\nParent org. OK\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	files["192.0.2.53:53"] = "example.org." + soa + "www.example.org. 60 IN A 192.0.2.9\n"
	if got, want := states(), objects+"Server ns.example.org. Fails\nParent org. OK\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	files["192.0.2.10:53"] = "org." + soa
	if got, want := states(), objects+"Server ns.example.org. Fails\nParent org. Fails\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	clients.Ask = nil
	unasked := strings.Replace(objects, "example.org.", "dns/org", 1) // the Zone, whose name the resolver told before
	if got, want := states(), unasked+"Server  NotAsked\nParent of the zone NotAsked\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// DNS servers that do not answer delay a chain by a few seconds only, and a question that finds many Records sends a
// bounded number of DNS questions (W3).
func TestAsk_isBounded_W3(t *testing.T) {
	var records []*v1alpha1.Record
	for n := range 3 * maxPaths {
		records = append(records, tenantRecord(fmt.Sprintf("r%d", n), fmt.Sprintf("r%d.example.org.", n), "192.0.2.1"))
	}
	var asked atomic.Int32
	began := time.Now()
	silent := func(ctx context.Context, _ verify.Question) (*verify.Answer, error) {
		asked.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	chain := must.Get(Ask(t.Context(), Clients{API: newTenant(records...), Ask: silent},
		Question{Text: "192.0.2.1", Namespace: "team", Resolver: "192.0.2.2:53"}))(t)
	if took := time.Since(began); took > dnsTime+5*time.Second {
		t.Errorf("it took %s", took)
	}
	if n := asked.Load(); n == 0 || n > maxQuestions {
		t.Errorf("%d questions", n)
	}
	if len(chain.Paths) != maxPaths || !strings.Contains(strings.Join(chain.Notes, " "), "40 more Records are left out") {
		t.Errorf("%d paths, notes %q", len(chain.Paths), chain.Notes)
	}
}

// A text may be read as an object, a DNS name or an address. The first reading with a result is taken, and a note names
// another that is possible.
func TestAsk_readsTheQuestion(t *testing.T) {
	records := []*v1alpha1.Record{tenantRecord("www", "www.example.org.", "192.0.2.1"),
		tenantRecord("www.example.org", "a.example.org.", "192.0.2.2"), tenantRecord("b.example.org", "c.example.org.", "192.0.2.3"),
		tenantRecord("192.0.2.1", "d.example.org.", "192.0.2.4"), tenantRecord("slash", "0/25.example.org.", "192.0.2.5")}
	for text, want := range map[string]string{
		"www":                    "Record www ",
		"record/www":             "Record www ",
		"team/www":               "Record www ",
		"www.example.org":        "Name www Read as a DNS name",
		"WWW.example.org.":       "Name www Searched in namespace team",
		"record/www.example.org": "Record www.example.org ",
		"b.example.org":          "Record b.example.org No Record has this DNS name",
		"b.example.org.":         "Name  No Record of b.example.org.",
		"0/25.example.org.":      "Name slash ",
		"192.0.2.1":              "Address www ",
		"record/192.0.2.1":       "Record 192.0.2.1 ",
		"absent":                 "not found; give its namespace by -n, or absent. as a DNS name",
		"zone/org":               "no right",
		"192.0.2.0/24":           "is a prefix",
		"a..b":                   "neither an address",
		"www MX":                 "leave MX out",
		"192.0.2.1 A":            "leave A out",
		"www.example.org NONE":   "NONE",
	} {
		asked, kind, _ := strings.Cut(text, " ")
		chain, err := Ask(t.Context(), Clients{API: newTenant(records...)}, Question{Text: asked, Type: kind, Namespace: "team"})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s %s %s", chain.Reading, chain.Paths[0].Subject.Name, strings.Join(chain.Notes, " "))
			want = "^" + want
		}
		if !strings.Contains("^"+got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
