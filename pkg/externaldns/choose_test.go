// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/externaldns/contract"
)

// endpointOf is an endpoint as a source makes it: RESOURCE NAME TYPE TARGET,TARGET.
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

func admitCandidate(c *Candidate) *Candidate {
	c.Admitted = true
	return c
}

// X2, X3, X4: what external-dns is answered, and which objects are refused, whatever the order.
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
		stands          string // NAMESPACE RESOURCE NAME TYPE VALUE; ! before it: no zone takes it
		wanted          []string
		verdict         func(*Candidate) *Candidate
		answer, refused []string
	}{
		{name: "the first that is let in has a new name", wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.2"},
			answer: []string{inA + " x.org A 192.0.2.1"}, refused: []string{inB}},
		{name: "one that is refused blocks no other", wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.2"},
			verdict: refusedIn("a"), answer: []string{inB + " x.org A 192.0.2.2"}, refused: []string{inA}},
		{name: "the holder stays", stands: "b ingress/b/web x.org A 192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.2"},
			answer: []string{inB + " x.org A 192.0.2.2"}, refused: []string{inA}},
		{name: "the holder changes its data", stands: "b ingress/b/web x.org A 192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.3"},
			answer: []string{inB + " x.org A 192.0.2.3"}, refused: []string{inA}},
		{name: "of two objects of a namespace the one that made it", stands: "b ingress/b/y x.org A 192.0.2.2",
			wanted: []string{inB + " x.org A 192.0.2.1", "ingress/b/y x.org A 192.0.2.3"},
			answer: []string{"ingress/b/y x.org A 192.0.2.3"}, refused: []string{inB}},
		{name: "another object of the namespace takes over", stands: "b ingress/b/y x.org A 192.0.2.2",
			wanted: []string{inB + " x.org A 192.0.2.1"}, answer: []string{inB + " x.org A 192.0.2.1"}},
		{name: "external-dns has dropped the holder's equal endpoint", stands: "b ingress/b/web x.org A 192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.2"}, answer: []string{inB + " x.org A 192.0.2.2"},
			refused: []string{inA}},
		{name: "external-dns has joined the holder's endpoint to another", stands: "b ingress/b/web x.org A 192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1,192.0.2.2"}, answer: []string{inB + " x.org A 192.0.2.2"},
			refused: []string{inA}},
		{name: "the holder has gone, and the other waits until its Record has", stands: "b ingress/b/web x.org A 192.0.2.2",
			wanted: []string{inA + " x.org A 192.0.2.1"}, refused: []string{inA}},
		{name: "a change that is refused removes nothing", stands: "a ingress/a/web x.org A 192.0.2.1",
			wanted: []string{inA + " x.org A 192.0.2.9"}, verdict: refusedIn("a"), answer: []string{inA + " x.org A 192.0.2.1"},
			refused: []string{inA}},
		{name: "nor does one without a verdict", stands: "a ingress/a/web x.org A 192.0.2.1",
			wanted: []string{inA + " x.org A 192.0.2.9"}, verdict: undecided, answer: []string{inA + " x.org A 192.0.2.1"}},
		{name: "nor one that has no form", stands: "a ingress/a/web x.org A 192.0.2.1",
			wanted: []string{inA + ` x.org A "heritage=external-dns"`}, answer: []string{inA + " x.org A 192.0.2.1"},
			refused: []string{inA}},
		{name: "nor does one that has no form beside another's wish", stands: "a ingress/a/web x.org A 192.0.2.1",
			wanted: []string{inA + ` x.org A "heritage=external-dns"`, inB + " x.org A 192.0.2.2"},
			answer: []string{inA + " x.org A 192.0.2.1"}, refused: []string{inA, inB}},
		{name: "what is new waits for a verdict", wanted: []string{inA + " x.org A 192.0.2.9"}, verdict: undecided},
		{name: "a CNAME becomes an address", stands: "a ingress/a/web x.org CNAME lb.org",
			wanted: []string{inA + " x.org A 192.0.2.9"}, answer: []string{inA + " x.org A 192.0.2.9"}},
		{name: "a CNAME stays where the address is refused", stands: "a ingress/a/web x.org CNAME lb.org",
			wanted: []string{inA + " x.org A 192.0.2.9"}, verdict: refusedIn("a"), answer: []string{inA + " x.org CNAME lb.org"},
			refused: []string{inA}},
		{name: "a CNAME of another namespace does not stay for it",
			stands: "b ingress/b/web x.org CNAME lb.org",
			wanted: []string{inA + " x.org A 192.0.2.9"}, verdict: refusedIn("a"), refused: []string{inA}},
		{name: "a CNAME stays while two namespaces are refused at its name", stands: "a ingress/a/web x.org CNAME lb.org",
			wanted: []string{inA + " x.org A 192.0.2.9", inB + " x.org AAAA 2001:db8::1"}, verdict: refusedIn("a", "b"),
			answer: []string{inA + " x.org CNAME lb.org"}, refused: []string{inA, inB}},
		{name: "what no zone takes goes first", stands: "!b ingress/b/web x.org A 192.0.2.1",
			wanted: []string{inA + " x.org A 192.0.2.1", inB + " x.org A 192.0.2.1"}, verdict: refusedIn("b")},
		{name: "it stays where the other is refused", stands: "!b ingress/b/web x.org A 192.0.2.1",
			wanted: []string{inA + " x.org A 192.0.2.1"}, verdict: refusedIn("a"), answer: []string{inB + " x.org A 192.0.2.1"},
			refused: []string{inA}},
		{name: "it stays until there is a verdict", stands: "!b ingress/b/web x.org A 192.0.2.1",
			wanted: []string{inA + " x.org A 192.0.2.1"}, verdict: undecided, answer: []string{inB + " x.org A 192.0.2.1"},
			refused: []string{inA}},
		{name: "without a wish what stands goes", stands: "a ingress/a/web x.org A 192.0.2.1"},
		{name: "a routing policy", wanted: []string{"node/n1 x.org A 192.0.2.1"}, refused: []string{"//"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var records []v1alpha1.Record
			if words := strings.Fields(c.stands); len(words) > 0 {
				namespace, untaken := strings.CutPrefix(words[0], "!")
				r := standingRecord(t, namespace, words[1], words[2], words[3], words[4])
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
				got, left := ours.ReadStanding(records).Choose(Group(ours.MakeCandidates(endpoints)), c.verdict)
				for _, e := range got {
					answer = append(answer, showEndpoint(e))
				}
				for _, r := range left {
					refused = append(refused, r.Resource.String())
				}
				if !slices.Equal(answer, c.answer) || !slices.Equal(refused, c.refused) {
					t.Fatalf("answer %q, refused %q", answer, refused)
				}
			}
		})
	}
}

// PTR endpoints of --create-ptr come from no object: each namespace gets the hosts of its own objects.
func TestMakeCandidates_ofPointers(t *testing.T) {
	all := ours.MakeCandidates([]*contract.Endpoint{
		endpointOf("ingress/b/web b.org A 192.0.2.1"), endpointOf("ingress/a/web a.org A 192.0.2.1"),
		endpointOf("ingress/a/six s.org AAAA 2001:db8::1"),
		endpointOf("ingress/b/other a.org A 192.0.2.7"), // the host at another address says nothing
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

// External-dns joins the endpoints of all objects that want a name, of all namespaces: what the object does not say is
// taken away (attack: an address of one's own in the RRset of another tenant).
func TestKeepTargets(t *testing.T) {
	for _, c := range []struct{ texts, targets, kept string }{
		{"192.0.2.1", "192.0.2.1,203.0.113.6", "192.0.2.1."},
		{"2001:DB8::1|x", "2001:db8:0::1,2001:db8::6", "2001:db8::1."},
		{"192.0.2.1, 192.0.2.2", "192.0.2.1,192.0.2.2,203.0.113.6", "192.0.2.1,192.0.2.2."},
		{"nothing", "192.0.2.1,203.0.113.6", "192.0.2.1,203.0.113.6."}, // of a Gateway, or a default: it cannot be known
		{"203.0.113.61", "192.0.2.1,203.0.113.6", "192.0.2.1,203.0.113.6."},
	} {
		kind := "A"
		if strings.Contains(c.targets, ":") {
			kind = "AAAA"
		}
		one := ours.MakeCandidates([]*contract.Endpoint{endpointOf("ingress/a/web x.org " + kind + " " + c.targets)})[0]
		one.KeepTargets(strings.Split(c.texts, "|"))
		if kept := strings.Join(one.Record.Spec.Values, ",") + "."; kept != c.kept {
			t.Errorf("%s of %s: kept %s", c.texts, c.targets, kept)
		}
	}
}
