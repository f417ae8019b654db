// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/externaldns/contract"
)

// Candidate is one RRset that one object wants.
type Candidate struct {
	contract.Key
	// Endpoint is what external-dns sent.
	Endpoint *contract.Endpoint
	// Resource is the object; zero where it is not known.
	Resource Resource
	// Namespace is that of the Record.
	Namespace string
	// Record is the wanted one; nil where the endpoint has no form.
	Record *v1alpha1.Record
	// Err says why there is no Record, or why the server refuses it. Admitted: the server lets it in. Without either
	// the server has not been asked.
	Err      error
	Admitted bool
}

// MakeCandidates makes them, in an order that depends on what they are alone.
func (m Mapping) MakeCandidates(endpoints []*contract.Endpoint) (all []*Candidate) {
	sources := findSources(endpoints)
	for _, e := range endpoints {
		for _, share := range sharePointer(e, sources) {
			all = append(all, m.makeCandidate(share))
		}
	}
	slices.SortFunc(all, func(a, b *Candidate) int {
		return cmp.Or(compareKeys(a.Key, b.Key), cmp.Compare(a.Resource.String(), b.Resource.String()),
			slices.Compare(a.Endpoint.Targets, b.Endpoint.Targets))
	})
	return all
}

func compareKeys(a, b contract.Key) int { return cmp.Compare(a.String(), b.String()) }

func (m Mapping) makeCandidate(e *contract.Endpoint) *Candidate {
	c := &Candidate{Endpoint: e}
	c.Key, _ = e.Key() // MakeRecord says what is wrong with it
	var known bool
	if c.Resource, known = ReadResource(e); !known {
		c.Resource.Namespace = m.Default
	}
	if c.Resource.Namespace == "" {
		c.Err = fmt.Errorf("resource %q: the endpoint comes from no object of a namespace; --default-namespace takes such endpoints",
			e.Labels[contract.LabelResource])
		return c
	}
	if c.Namespace, c.Err = m.NamespaceOf(c.Resource.Namespace); c.Err == nil {
		c.Record, c.Err = m.MakeRecord(e)
	}
	return c
}

// pointer is a host at the reverse name of an address.
type pointer struct{ at, host name.Name }

// findSources says from which objects the hosts at addresses come.
func findSources(endpoints []*contract.Endpoint) map[pointer]Resource {
	sources := map[pointer]Resource{}
	for _, e := range endpoints {
		resource, known := ReadResource(e)
		key, err := e.Key()
		if !known || err != nil || key.Type != rdata.A && key.Type != rdata.AAAA {
			continue
		}
		for _, target := range e.Targets {
			address, err := netip.ParseAddr(target)
			at := pointer{reverseName(address), key.Name}
			if first, has := sources[at]; err == nil && (!has || resource.String() < first.String()) {
				sources[at] = resource
			}
		}
	}
	return sources
}

// sharePointer divides a PTR endpoint of --create-ptr, which comes from no object, and may have hosts of several
// namespaces: one for each of them. Another endpoint is itself.
func sharePointer(e *contract.Endpoint, sources map[pointer]Resource) []*contract.Endpoint {
	key, _ := e.Key() // at a wrong name is no host
	shares := map[string]*contract.Endpoint{}
	for _, target := range slices.Sorted(slices.Values(e.Targets)) {
		host, _ := contract.ParseName(target)
		resource, known := sources[pointer{key.Name, host}]
		if known && shares[resource.Namespace] == nil {
			share := *e
			share.Labels, share.Targets = map[string]string{contract.LabelResource: resource.String()}, nil
			shares[resource.Namespace] = &share
		}
		if known {
			shares[resource.Namespace].Targets = append(shares[resource.Namespace].Targets, target)
		}
	}
	if _, known := ReadResource(e); known || len(shares) == 0 || key.Type != rdata.PTR {
		return []*contract.Endpoint{e}
	}
	return slices.Collect(maps.Values(shares))
}

// reverseName is the name of the PTR records of an address.
func reverseName(address netip.Addr) name.Name {
	octets, form, end := address.AsSlice(), "%[1]x.%[2]x.", "ip6.arpa."
	slices.Reverse(octets)
	if address.Is4() {
		form, end = "%[3]d.", "in-addr.arpa."
	}
	var text strings.Builder
	for _, octet := range octets {
		fmt.Fprintf(&text, form, octet&15, octet>>4, octet)
	}
	fqdn, _ := name.Parse(text.String() + end) // an address has no wrong name
	return fqdn
}

// KeepTargets takes away values that are not of the candidate's object: external-dns joins the endpoints of all objects
// that want one RRset with one TTL, also of several namespaces, and names one of the objects. texts are all that the
// object says. Where it says none of the values they come from elsewhere, and all are kept.
func (c *Candidate) KeepTargets(texts []string) {
	said := map[string]bool{}
	for _, text := range texts {
		words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
		for _, word := range append(words, text) {
			said[makeValue(c.Type, strings.ToLower(word))] = true
		}
	}
	r := c.Record.DeepCopy()
	r.Spec.Values = slices.DeleteFunc(r.Spec.Values, func(value string) bool { return !said[strings.ToLower(value)] })
	if len(r.Spec.Values) > 0 {
		c.Record = r
	}
}

// Wanted are candidates by RRset, each in the order of MakeCandidates.
type Wanted map[contract.Key][]*Candidate

// Group gathers candidates by RRset.
func Group(candidates []*Candidate) Wanted {
	wanted := Wanted{}
	for _, c := range candidates {
		wanted[c.Key] = append(wanted[c.Key], c)
	}
	return wanted
}

// NeedsVerdict says whether a candidate would change what stands, and has not been judged.
func (s Standing) NeedsVerdict(c *Candidate) bool {
	if c.Err != nil || c.Admitted {
		return false
	}
	stands := s[c.Key]
	if stands == nil || stands.Namespace != c.Namespace {
		return stands == nil || !isTaken(stands)
	}
	return !standsAs(stands, c.Record)
}

// Replaced are the Records that go when a candidate comes: a CNAME and other types exclude each other at a name, and
// nothing wants those any more.
func (s Standing) Replaced(c *Candidate, wanted Wanted) (replaced []*v1alpha1.Record) {
	for _, other := range s.atName(c.Name) {
		t, _ := rdata.ParseType(other.Spec.Type) // it stands by its type
		if (t == rdata.CNAME) != (c.Type == rdata.CNAME) && len(wanted[contract.Key{Name: c.Name, Type: t}]) == 0 &&
			other.Namespace == c.Namespace {
			replaced = append(replaced, other)
		}
	}
	return replaced
}

// choice is an answer in the making.
type choice struct {
	answer  []*contract.Endpoint
	refused []Candidate
	// open are where something is not let in: of each name all namespaces, since one must not hide another.
	open map[place]bool
}

// place is a name in a namespace.
type place struct {
	at        name.Name
	namespace string
}

// errHeld is said to an object that comes later than another.
var errHeld = errors.New("another object has this name and type, and keeps it: choose another name, or remove that object")

// Choose says what external-dns is answered, and which candidates are refused, each with its Err. judged returns a
// candidate as the server has judged it.
func (s Standing) Choose(wanted Wanted, judged func(*Candidate) *Candidate) (answer []*contract.Endpoint, refused []Candidate) {
	x := choice{answer: []*contract.Endpoint{}, open: map[place]bool{}}
	for _, key := range slices.SortedFunc(maps.Keys(wanted), compareKeys) {
		var formed []*Candidate
		for _, c := range wanted[key] {
			if c.Record != nil {
				formed = append(formed, judged(c))
				continue
			}
			x.refuse(c, c.Err)
			x.open[place{key.Name, c.Namespace}] = true
		}
		if stands := s[key]; stands != nil {
			x.chooseStanding(stands, wanted[key], formed)
		} else {
			x.chooseNew(formed)
		}
	}
	// What would be replaced by something that is not let in stays.
	for key, stands := range s {
		if len(wanted[key]) == 0 && x.open[place{key.Name, stands.Namespace}] {
			x.answer = append(x.answer, ReadEndpoint(stands))
		}
	}
	return x.answer, x.refused
}

func (x *choice) refuse(c *Candidate, err error) {
	refused := *c
	refused.Err = err
	x.refused = append(x.refused, refused)
}

func (x *choice) accept(c *Candidate) {
	e := ReadEndpoint(c.Record)
	e.DNSName = c.Endpoint.DNSName
	x.answer = append(x.answer, e)
}

// chooseNew decides about an RRset that does not stand: the first that is let in has it.
func (x *choice) chooseNew(formed []*Candidate) {
	for i, c := range formed {
		if c.Admitted {
			x.accept(c)
			for _, other := range formed[i+1:] {
				x.refuse(other, errHeld)
			}
			return
		}
		x.open[place{c.Name, c.Namespace}] = true
		if c.Err != nil {
			x.refuse(c, c.Err)
		}
	}
}

// chooseStanding decides about an RRset that stands. It stays as it is unless its holder may change it, or something
// else wants it that could not be its holder, or is let in while no zone takes what stands.
func (x *choice) chooseStanding(stands *v1alpha1.Record, all, formed []*Candidate) {
	if !isTaken(stands) && slices.ContainsFunc(formed, func(c *Candidate) bool { return c.Admitted && c.Namespace != stands.Namespace }) {
		return // it goes first
	}
	holder := findHolder(stands, formed)
	for _, c := range formed {
		if c != holder && (c.Namespace != stands.Namespace || !standsAs(stands, c.Record)) {
			x.refuse(c, errHeld)
		}
	}
	switch {
	case holder == nil && len(formed) > 0 && !slices.ContainsFunc(all, func(c *Candidate) bool {
		return c.Namespace == stands.Namespace || covers(c, stands) // one of its namespace has no form, and removes nothing
	}):
		return
	case holder == nil || standsAs(stands, holder.Record):
	case holder.Admitted:
		x.accept(holder)
		return
	case holder.Err != nil:
		x.refuse(holder, holder.Err)
	}
	x.answer = append(x.answer, ReadEndpoint(stands))
}

// findHolder is the candidate of the object that a Record was made for, else the first of its namespace; nil for none.
func findHolder(stands *v1alpha1.Record, formed []*Candidate) (holder *Candidate) {
	for _, c := range formed {
		if c.Namespace != stands.Namespace {
			continue
		}
		if c.Resource.String() == stands.Annotations[v1alpha1.AnnotationExternalDNSResource] {
			return c
		}
		if holder == nil {
			holder = c
		}
	}
	return holder
}

// covers says whether all values of a Record are among the targets of an endpoint. External-dns drops one of two equal
// endpoints, and joins others. Which object it names of several changes, so what has all targets of the Record may
// stand for its object too.
func covers(c *Candidate, r *v1alpha1.Record) bool {
	for _, value := range valuesOf(r) {
		if !slices.ContainsFunc(c.Endpoint.Targets, func(target string) bool {
			return strings.EqualFold(makeValue(c.Type, target), value)
		}) {
			return false
		}
	}
	return true
}
