// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// endpointOf parses text of the form RESOURCE NAME TYPE TARGET,TARGET.
func endpointOf(text string) *contract.Endpoint {
	words := strings.Fields(text)
	e := &contract.Endpoint{DNSName: words[1], RecordType: words[2], Targets: strings.Split(words[3], ",")}
	if words[0] != "-" {
		e.Labels = map[string]string{contract.LabelResource: words[0]}
	}
	return e
}

func showEndpoint(e *contract.Endpoint) string {
	return fmt.Sprintf("%s %s %s %s", e.Labels[contract.LabelResource], e.DNSName, e.RecordType, strings.Join(e.Targets, ","))
}

func chooseAmong(s Existing, endpoints []*contract.Endpoint, judge func(*Candidate) *Candidate) ([]*contract.Endpoint, []Candidate) {
	wanted := Group(own.MakeCandidates(s, endpoints))
	own.AddHolders(s, wanted)
	return s.Choose(wanted, func(c *Candidate) *Candidate {
		if !s.NeedsVerdict(c) {
			return c
		}
		judged := *c
		return judge(&judged)
	})
}

func admitCandidate(c *Candidate) *Candidate {
	c.Admitted = true
	return c
}

// Choose returns the same answer and the same refused objects for any order of endpoints (X2, X3, X4).
func TestChoose(t *testing.T) {
	const inA, inB = "ingress/a/web", "ingress/b/web"
	refusedIn := func(namespaces ...string) func(*Candidate) *Candidate {
		return func(c *Candidate) *Candidate {
			if c.Admitted = !slices.Contains(namespaces, c.Namespace); !c.Admitted {
				c.Err = errors.New("no rule")
			}
			return c
		}
	}
	undecided := func(c *Candidate) *Candidate { return c }
	for _, c := range []struct {
		name            string
		current         string // NAMESPACE RESOURCE NAME TYPE VALUE, with ! in front if no zone adopts it
		want            string // texts of the Record's object, separated by |; "" if the object is gone, "?" if it is unreadable
		wanted          []string
		verdict         func(*Candidate) *Candidate
		answer, refused []string
	}{
		{name: "the first that is let in has a new name", wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.2"},
			answer: []string{inA + " x.org A 192.0.2.1"}, refused: []string{inB}},
		{name: "one that is refused blocks no other", wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.2"},
			verdict: refusedIn("a"), answer: []string{inB + " x.org A 192.0.2.2"}, refused: []string{inA}},
		{name: "the holder stays", current: "b ingress/b/web x.org A 192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.2"},
			answer: []string{inB + " x.org A 192.0.2.2"}, refused: []string{inA}},
		{name: "the holder changes its data", current: "b ingress/b/web x.org A 192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.3"},
			answer: []string{inB + " x.org A 192.0.2.3"}, refused: []string{inA}},
		{name: "of two objects of a namespace the one that made it", current: "b ingress/b/y x.org A 192.0.2.2",
			wanted: []string{inB + " x.org A 192.0.2.1", "ingress/b/y x.org A 192.0.2.3"},
			answer: []string{"ingress/b/y x.org A 192.0.2.3"}, refused: []string{inB}},
		{name: "another object of the namespace takes over", current: "b ingress/b/y x.org A 192.0.2.2",
			wanted: []string{inB + " x.org A 192.0.2.1"}, answer: []string{inB + " x.org A 192.0.2.1"}},
		{name: "external-dns has dropped the holder's equal endpoint", current: "b ingress/b/web x.org A 192.0.2.2",
			want: "x.org|192.0.2.2", wanted: []string{inA + " x.org A 192.0.2.2"}, answer: []string{inB + " x.org A 192.0.2.2"},
			refused: []string{inA, "kept " + inB}},
		{name: "external-dns has joined the holder's endpoint to another", current: "b ingress/b/web x.org A 192.0.2.2",
			want: "X.org.|192.0.2.2", wanted: []string{inA + " x.org A 192.0.2.1,192.0.2.2"},
			answer: []string{inB + " x.org A 192.0.2.2"}, refused: []string{inA, "kept " + inB}},
		{name: "the holder's address changes while external-dns names another object", current: "b ingress/b/web x.org A 192.0.2.2",
			want: "y.org, x.org|192.0.2.9", wanted: []string{inA + " x.org A 192.0.2.1,192.0.2.9"},
			answer: []string{inB + " x.org A 192.0.2.9"}, refused: []string{inA, "kept " + inB}},
		{name: "another address of the holder", current: "b ingress/b/web x.org A 192.0.2.2", want: "x.org|192.0.2.9|192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1,192.0.2.2,192.0.2.9"}, answer: []string{inB + " x.org A 192.0.2.2,192.0.2.9"},
			refused: []string{inA, "kept " + inB}},
		{name: "a change of the holder that is refused removes nothing", current: "b ingress/b/web x.org A 192.0.2.2",
			want: "x.org|192.0.2.9", wanted: []string{inA + " x.org A 192.0.2.1,192.0.2.9"}, verdict: refusedIn("b"),
			answer: []string{inB + " x.org A 192.0.2.2"}, refused: []string{inA, inB}},
		{name: "the holder's object cannot be read", current: "b ingress/b/web x.org A 192.0.2.2", want: "?",
			wanted: []string{inA + " x.org A 192.0.2.1,192.0.2.9"}, answer: []string{inB + " x.org A 192.0.2.2"}, refused: []string{inA}},
		{name: "the holder's object has the name and none of the targets", current: "b httproute/b/web x.org A 192.0.2.2", want: "x.org",
			wanted: []string{inA + " x.org A 192.0.2.1,192.0.2.9"}, answer: []string{"httproute/b/web x.org A 192.0.2.2"},
			refused: []string{inA, "httproute/b/web"}},
		{name: "the holder's object cannot be known", current: "b ingress/c/web x.org A 192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1"}, answer: []string{"ingress/c/web x.org A 192.0.2.2"}, refused: []string{inA}},
		{name: "the holder's name is taken off its object", current: "b ingress/b/web x.org A 192.0.2.2", want: "y.org|192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1,192.0.2.2"}, refused: []string{inA}},
		{name: "the holder wants a CNAME instead", current: "b ingress/b/web x.org A 192.0.2.2", want: "x.org",
			wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org CNAME lb.org"}, answer: []string{inB + " x.org CNAME lb.org"},
			refused: []string{inA}},
		{name: "its address stays until the CNAME is let in", current: "b ingress/b/web x.org A 192.0.2.2", want: "x.org",
			wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org CNAME lb.org"}, verdict: undecided,
			answer: []string{inB + " x.org A 192.0.2.2"}, refused: []string{inA}},
		{name: "the holder has gone, and the other waits until its Record has", current: "b ingress/b/web x.org A 192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1"}, refused: []string{inA}},
		{name: "the holder has gone, and the other has no form", current: "b ingress/b/web x.org A 192.0.2.2",
			wanted: []string{inA + ` x.org A "heritage=external-dns"`}, refused: []string{inA}},
		{name: "a pointer is of the object that has the address", current: "b ingress/b/web 2.2.0.192.in-addr.arpa PTR x.org",
			want: "x.org|192.0.2.2", wanted: []string{inA + " 2.2.0.192.in-addr.arpa PTR x.org"},
			answer: []string{inB + " 2.2.0.192.in-addr.arpa PTR x.org"}, refused: []string{inA, "kept " + inB}},
		{name: "its object has another address", current: "b ingress/b/web 2.2.0.192.in-addr.arpa PTR x.org",
			want: "x.org|192.0.2.3", wanted: []string{inA + " 2.2.0.192.in-addr.arpa PTR x.org"}, refused: []string{inA}},
		{name: "external-dns has dropped a DNSEndpoint for a target of another", current: "b crd/b/x x.org A 192.0.2.2",
			want: "x.org|192.0.2.2", answer: []string{"crd/b/x x.org A 192.0.2.2"}, refused: []string{"kept crd/b/x"}},
		{name: "a DNSEndpoint has gone", current: "b crd/b/x x.org A 192.0.2.2"},
		{name: "a DNSEndpoint is not read", current: "b crd/b/x x.org A 192.0.2.2", want: "?",
			answer: []string{"crd/b/x x.org A 192.0.2.2"}},
		{name: "a change that is refused removes nothing", current: "a ingress/a/web x.org A 192.0.2.1",
			wanted: []string{inA + " x.org A 192.0.2.9"}, verdict: refusedIn("a"), answer: []string{inA + " x.org A 192.0.2.1"},
			refused: []string{inA}},
		{name: "nor does one without a verdict", current: "a ingress/a/web x.org A 192.0.2.1",
			wanted: []string{inA + " x.org A 192.0.2.9"}, verdict: undecided, answer: []string{inA + " x.org A 192.0.2.1"}},
		{name: "nor one that has no form", current: "a ingress/a/web x.org A 192.0.2.1",
			wanted: []string{inA + ` x.org A "heritage=external-dns"`}, answer: []string{inA + " x.org A 192.0.2.1"},
			refused: []string{inA}},
		{name: "nor does one that has no form beside another's wish", current: "a ingress/a/web x.org A 192.0.2.1",
			wanted: []string{inA + ` x.org A "heritage=external-dns"`, inB + " x.org A 192.0.2.2"},
			answer: []string{inA + " x.org A 192.0.2.1"}, refused: []string{inA, inB}},
		{name: "what another namespace has joined keeps no change back", current: "a crd/a/x x.org TXT one",
			wanted: []string{"crd/a/x x.org TXT two,heritage=external-dns"}, answer: []string{"crd/a/x x.org TXT two"}},
		{name: "what is new waits for a verdict", wanted: []string{inA + " x.org A 192.0.2.9"}, verdict: undecided},
		{name: "a CNAME becomes an address", current: "a ingress/a/web x.org CNAME lb.org",
			wanted: []string{inA + " x.org A 192.0.2.9"}, answer: []string{inA + " x.org A 192.0.2.9"}},
		{name: "a CNAME stays where the address is refused", current: "a ingress/a/web x.org CNAME lb.org",
			wanted: []string{inA + " x.org A 192.0.2.9"}, verdict: refusedIn("a"), answer: []string{inA + " x.org CNAME lb.org"},
			refused: []string{inA}},
		{name: "a CNAME of another namespace does not stay for it",
			current: "b ingress/b/web x.org CNAME lb.org",
			wanted:  []string{inA + " x.org A 192.0.2.9"}, verdict: refusedIn("a"), refused: []string{inA}},
		{name: "a CNAME stays while two namespaces are refused at its name", current: "a ingress/a/web x.org CNAME lb.org",
			wanted: []string{inA + " x.org A 192.0.2.9", inB + " x.org AAAA 2001:db8::1"}, verdict: refusedIn("a", "b"),
			answer: []string{inA + " x.org CNAME lb.org"}, refused: []string{inA, inB}},
		{name: "what no zone takes goes first", current: "!b ingress/b/web x.org A 192.0.2.1",
			wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.1"}, verdict: refusedIn("b")},
		{name: "it stays where the other is refused", current: "!b ingress/b/web x.org A 192.0.2.1", want: "x.org|192.0.2.1",
			wanted: []string{inA + " x.org A 192.0.2.1"}, verdict: refusedIn("a"), answer: []string{inB + " x.org A 192.0.2.1"},
			refused: []string{inA, "kept " + inB}},
		{name: "it stays until there is a verdict", current: "!b ingress/b/web x.org A 192.0.2.1", want: "?",
			wanted: []string{inA + " x.org A 192.0.2.1"}, verdict: undecided, answer: []string{inB + " x.org A 192.0.2.1"},
			refused: []string{inA}},
		{name: "without a wish what stands goes", current: "a ingress/a/web x.org A 192.0.2.1"},
		{name: "a routing policy", wanted: []string{"node/n1 x.org A 192.0.2.1"}, refused: []string{"//"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var records []v1alpha1.Record
			if words := strings.Fields(c.current); len(words) > 0 {
				namespace, untaken := strings.CutPrefix(words[0], "!")
				r := existingRecord(t, namespace, words[1], words[2], words[3], words[4])
				if untaken {
					r.Status.ZoneRef = nil
				}
				records = append(records, *r)
			}
			if c.verdict == nil {
				c.verdict = refusedIn()
			}
			for seed := range uint64(5) {
				var endpoints []*contract.Endpoint
				for _, text := range c.wanted {
					endpoints = append(endpoints, endpointOf(text))
				}
				rand.New(rand.NewPCG(seed, 1)).Shuffle(len(endpoints), func(i, j int) {
					endpoints[i], endpoints[j] = endpoints[j], endpoints[i]
				})
				var answer, refused []string
				got, left := chooseAmong(own.ReadExisting(records), endpoints, func(asked *Candidate) *Candidate {
					if asked.Asker != "" && c.want == "?" {
						return asked
					}
					if asked.Asker != "" {
						asked.KeepTargets(textsOf(strings.Split(c.want, "|")...))
					}
					if asked.Record == nil || asked.Err != nil {
						return asked
					}
					return c.verdict(asked)
				})
				for _, e := range got {
					answer = append(answer, showEndpoint(e))
				}
				for _, r := range left {
					kept := map[bool]string{true: "kept "}[r.Admitted]
					refused = append(refused, kept+r.Resource.String())
				}
				if !slices.Equal(answer, c.answer) || !slices.Equal(refused, c.refused) {
					t.Fatalf("answer %q, refused %q", answer, refused)
				}
			}
		})
	}
}

type object struct {
	resource, host string
	addresses      []string
}

// joinObjects joins the endpoints of each kind and host as external-dns v0.22 does: Services are sorted by name, and
// others are in any order. A DNSEndpoint with an invalid target removes the host.
func joinObjects(random *rand.Rand, objects []*object) (all []*contract.Endpoint) {
	ordered := slices.Clone(objects)
	random.Shuffle(len(ordered), func(i, j int) { ordered[i], ordered[j] = ordered[j], ordered[i] })
	slices.SortStableFunc(ordered, func(a, b *object) int {
		if strings.HasPrefix(a.resource, "service/") && strings.HasPrefix(b.resource, "service/") {
			return strings.Compare(a.resource, b.resource)
		}
		return 0
	})
	joined := map[string]*contract.Endpoint{}
	for _, o := range ordered {
		at := strings.Split(o.resource, "/")[0] + " " + o.host
		if len(o.addresses) == 0 {
			continue
		}
		if joined[at] == nil {
			joined[at] = endpointOf(o.resource + " " + o.host + " A " + o.addresses[0])
		}
		joined[at].Targets = slices.Compact(slices.Sorted(slices.Values(append(joined[at].Targets, o.addresses...))))
	}
	seen := map[string]bool{}
	for _, at := range slices.Sorted(maps.Keys(joined)) {
		e := joined[at]
		equal := e.DNSName + " " + strings.Join(e.Targets, ",")
		if seen[equal] || slices.Contains(e.Targets, "nonsense") {
			continue
		}
		seen[equal] = true
		all = append(all, e)
	}
	return all
}

// While an object wants a name, objects of other namespaces, allowed by a rule or not, change neither the Record nor
// its addresses. After the object withdraws, another namespace gets the name.
func TestChoose_noNamespaceTakesWhatAnotherHas(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		pick := func(all ...string) string { return all[random.IntN(len(all))] }
		ruled := seed%2 == 0
		records := map[string]*v1alpha1.Record{}
		victim := &object{pick("service/v/x", "ingress/v/x", "crd/v/x"), "x.org", []string{"192.0.2.1"}}
		others := make([]*object, 1+random.IntN(3))
		var story []string
		var endpoints []*contract.Endpoint
		cycle := func(objects ...*object) {
			texts := map[string][]string{}
			for _, o := range objects {
				texts[o.resource] = append([]string{o.host}, o.addresses...)
			}
			var existing []v1alpha1.Record
			for _, r := range records {
				existing = append(existing, *r)
			}
			endpoints = joinObjects(random, objects)
			answer, _ := chooseAmong(own.ReadExisting(existing), endpoints, func(c *Candidate) *Candidate {
				if c.Asker != "" || len(c.Endpoint.Targets) > 1 {
					c.KeepTargets(textsOf(texts[c.Resource.String()]...))
				}
				if c.Namespace != "v" && !ruled {
					c.Err = errors.New("no rule")
				}
				c.Admitted = c.Err == nil
				return c
			})
			before := records
			records = map[string]*v1alpha1.Record{}
			for _, e := range answer {
				resource, _ := ReadResource(e)
				if before[e.DNSName] != nil && before[e.DNSName].Namespace != resource.Namespace {
					t.Fatalf("seed %d: %s moves from one namespace to another at once", seed, e.DNSName)
				}
				records[e.DNSName] = existingRecord(t, resource.Namespace, resource.String(), e.DNSName, "A", e.Targets...)
			}
			for _, e := range endpoints {
				story = append(story, showEndpoint(e))
			}
			story = append(story, fmt.Sprintf("-> %v", victim))
		}
		cycle(victim)
		for range 20 {
			for i := range others {
				kind := pick("service", "ingress", "crd")
				others[i] = &object{fmt.Sprintf("%s/%s/%d", kind, pick("a", "m", "z"), i), pick("x.org", "x.org", "y.org"),
					[]string{pick("203.0.113.66", "192.0.2.1", "192.0.2.2")}}
				if kind == "crd" && random.IntN(2) == 0 {
					others[i].addresses = []string{"nonsense"}
				}
			}
			victim.addresses = []string{pick("192.0.2.1", "192.0.2.2")}
			cycle(append(slices.Clone(others), victim)...)
			r := records["x.org"]
			seen := slices.ContainsFunc(endpoints, func(e *contract.Endpoint) bool {
				return e.DNSName == "x.org" && slices.Contains(e.Targets, victim.addresses[0])
			})
			if r == nil || r.Namespace != "v" || len(r.Spec.Values) != 1 || r.Spec.Values[0] == "203.0.113.66" ||
				seen && r.Spec.Values[0] != victim.addresses[0] {
				t.Fatalf("seed %d: the Record is %+v, the object %+v\n%s", seed, r, victim, strings.Join(story, "\n"))
			}
		}
		others = []*object{{"service/a/x", "x.org", []string{"203.0.113.66"}}}
		victim.host = "withdrawn.org"
		for range 3 {
			cycle(append(slices.Clone(others), victim)...)
		}
		if r := records["x.org"]; (r != nil) != ruled || ruled && r.Namespace != "a" {
			t.Fatalf("seed %d: after the name is withdrawn it is %+v", seed, r)
		}
	}
}

// external-dns makes PTR records for addresses without saying which object wants them. Therefore each namespace gets
// PTR records to the hosts that its own objects have at the address.
func TestMakeCandidates_ofPointers(t *testing.T) {
	all := own.MakeCandidates(nil, []*contract.Endpoint{
		endpointOf("ingress/b/web b.org A 192.0.2.1"), endpointOf("ingress/a/web a.org A 192.0.2.1"),
		endpointOf("ingress/a/six s.org AAAA 2001:db8::1"),
		endpointOf("ingress/b/other a.org A 192.0.2.7"), // the host at another address does not count
		endpointOf("- 1.2.0.192.in-addr.arpa PTR a.org,b.org"),
		endpointOf("- 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa PTR s.org"),
		endpointOf("- 9.2.0.192.in-addr.arpa PTR a.org"),
	})
	var pointers []string
	for _, c := range all {
		if c.Type == rdata.PTR && c.Err == nil {
			pointers = append(pointers, c.Namespace+" "+c.Name.String()[:8]+" "+strings.Join(c.Record.Spec.Values, ","))
		} else if c.Type == rdata.PTR && c.Name.String() != "9.2.0.192.in-addr.arpa." {
			t.Errorf("%s: %v", c.Key, c.Err)
		}
	}
	if wanted := []string{"a 1.0.0.0. s.org.", "a 1.2.0.19 a.org.", "b 1.2.0.19 b.org."}; !slices.Equal(pointers, wanted) {
		t.Errorf("%q", pointers)
	}
}

// external-dns joins the addresses of several objects under one name, and makes a PTR record for each address. A
// namespace gets PTR records only for the addresses of its own Record, because the PTR record of an attacker's address
// could otherwise name another namespace's host.
func TestMakeCandidates_ofJoinedPointers(t *testing.T) {
	endpoints := []*contract.Endpoint{
		endpointOf("service/a/x shop.org A 192.0.2.9,203.0.113.66"),
		endpointOf("- 9.2.0.192.in-addr.arpa PTR shop.org"), endpointOf("- 66.113.0.203.in-addr.arpa PTR shop.org"),
	}
	current := existingRecord(t, "v", "ingress/v/shop", "shop.org", "A", "192.0.2.9")
	for want, s := range map[string]Existing{"": {}, "v 9.2.0.192.in-addr.arpa. PTR": own.ReadExisting([]v1alpha1.Record{*current})} {
		var pointers []string
		for _, c := range own.MakeCandidates(s, endpoints) {
			if c.Type == rdata.PTR {
				pointers = append(pointers, c.Namespace+" "+c.Key.String())
			}
		}
		if got := strings.Join(pointers, "; "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func textsOf(texts ...string) Texts { return Texts{Hosts: texts, Targets: texts, All: texts} }

// An address elsewhere in the object, such as in the status of a port, is kept only if the object has no target of the
// endpoint and is named.
func TestKeepTargets_beforeOtherTexts(t *testing.T) {
	for _, c := range []struct {
		targets []string
		asker   string
		kept    string // or the error
	}{
		{[]string{"192.0.2.1"}, "", "192.0.2.1"},
		{nil, "", "10.96.0.7"},
		{[]string{"192.0.2.1"}, "b", "192.0.2.1"},
		{nil, "b", errUnknown.Error()},
	} {
		one := own.MakeCandidates(nil, []*contract.Endpoint{endpointOf("ingress/a/web x.org A 192.0.2.1,10.96.0.7,203.0.113.6")})[0]
		one.Asker = c.asker
		one.KeepTargets(Texts{Hosts: []string{"x.org"}, Targets: c.targets, All: []string{"192.0.2.9", "10.96.0.7"}})
		kept := strings.Join(one.Record.Spec.Values, ",")
		if one.Err != nil {
			kept = one.Err.Error()
		}
		if kept != c.kept {
			t.Errorf("%q for %q: kept %s, want %s", c.targets, c.asker, kept, c.kept)
		}
	}
}

// external-dns joins the addresses of all objects that want a name, and names one of the objects. Addresses that this
// object does not contain are dropped, because a tenant could otherwise add an address to another tenant's name.
func TestKeepTargets(t *testing.T) {
	for _, c := range []struct{ texts, targets, kept string }{
		{"192.0.2.1", "192.0.2.1,203.0.113.6", "192.0.2.1."},
		{"2001:DB8::1|x", "2001:db8:0::1,2001:db8::6", "2001:db8::1."},
		{"192.0.2.1, 192.0.2.2", "192.0.2.1,192.0.2.2,203.0.113.6", "192.0.2.1,192.0.2.2."},
		{"nothing", "192.0.2.1,203.0.113.6", "192.0.2.1,203.0.113.6."}, // a Gateway or a default, whose addresses are unknown
		{"203.0.113.61", "192.0.2.1,203.0.113.6", "192.0.2.1,203.0.113.6."},
	} {
		kind := "A"
		if strings.Contains(c.targets, ":") {
			kind = "AAAA"
		}
		one := own.MakeCandidates(nil, []*contract.Endpoint{endpointOf("ingress/a/web x.org " + kind + " " + c.targets)})[0]
		one.KeepTargets(textsOf(strings.Split(c.texts, "|")...))
		if kept := strings.Join(one.Record.Spec.Values, ",") + "."; kept != c.kept {
			t.Errorf("%s of %s: kept %s", c.texts, c.targets, kept)
		}
	}
}
