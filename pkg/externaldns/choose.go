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
	"unicode/utf8"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/externaldns/contract"
)

// Candidate is one RRset that one object wants.
type Candidate struct {
	contract.Key
	// Endpoint is what external-dns sent; of an object that is asked, what stands and what others want.
	Endpoint *contract.Endpoint
	// Resource is the object; zero where it is not known.
	Resource Resource
	// Namespace is that of the Record.
	Namespace string
	// Asker is the namespace for whose endpoint the object must be read (KeepTargets) before the server is asked; "" if
	// it need not be, or has been.
	Asker string
	// Record is the wanted one; nil where the endpoint has no form, or, without Err, where the object wants it no more.
	Record *v1alpha1.Record
	// Err says why there is no Record, or why the server refuses it. Admitted: the server lets it in. Without either
	// the server has not been asked.
	Err      error
	Admitted bool
	// note is told to the object of a Record that stays although external-dns does not name it.
	note error
}

// MakeCandidates makes them, in an order that depends on what they are alone.
func (m Mapping) MakeCandidates(s Standing, endpoints []*contract.Endpoint) (all []*Candidate) {
	sources := m.findSources(s, endpoints)
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
		c.makeRecord(m)
	}
	return c
}

// makeRecord makes the Record of the endpoint, without texts of external-dns' registry that stand beside other targets:
// another namespace may have joined them.
func (c *Candidate) makeRecord(m Mapping) {
	e := *c.Endpoint
	if own := slices.DeleteFunc(slices.Clone(e.Targets), isHeritage); len(own) > 0 {
		e.Targets = own
	}
	c.Record, c.Err = m.MakeRecord(&e)
}

// pointer is a host at the reverse name of an address.
type pointer struct{ at, host name.Name }

// findSources returns the object that has a host at an address. Several targets may be of several objects: of these an
// object has those of its Record, and the others are of no object until they stand.
func (m Mapping) findSources(s Standing, endpoints []*contract.Endpoint) map[pointer]Resource {
	sources := map[pointer]Resource{}
	for _, e := range endpoints {
		resource, known := ReadResource(e)
		key, err := e.Key()
		if !known || err != nil || key.Type != rdata.A && key.Type != rdata.AAAA {
			continue
		}
		var holder Resource
		var values []string
		if stands := s[key]; stands != nil && isTaken(stands) {
			holder, _ = m.ResourceOf(stands)
			values = valuesOf(stands)
		}
		for _, target := range e.Targets {
			address, err := netip.ParseAddr(target)
			if err != nil {
				continue
			}
			from := resource
			switch {
			case slices.Contains(values, address.String()):
				from = holder
			case len(e.Targets) > 1:
				from = Resource{}
			}
			at := pointer{reverseName(address), key.Name}
			if first := sources[at]; first == (Resource{}) || from != (Resource{}) && from.String() < first.String() {
				sources[at] = from
			}
		}
	}
	return sources
}

// sharePointer divides a PTR endpoint of --create-ptr, which comes from no object, and may have hosts of several
// namespaces: one for each of them, without the hosts of which the object is not known yet. Another endpoint is itself.
func sharePointer(e *contract.Endpoint, sources map[pointer]Resource) []*contract.Endpoint {
	key, _ := e.Key() // at a wrong name is no host
	if _, known := ReadResource(e); known || key.Type != rdata.PTR {
		return []*contract.Endpoint{e}
	}
	shares, derived := map[string]*contract.Endpoint{}, false
	for _, target := range slices.Sorted(slices.Values(e.Targets)) {
		host, _ := contract.ParseName(target)
		resource, known := sources[pointer{key.Name, host}]
		if derived = derived || known; resource == (Resource{}) {
			continue
		}
		if shares[resource.Namespace] == nil {
			share := *e
			share.Labels, share.Targets = map[string]string{contract.LabelResource: resource.String()}, nil
			shares[resource.Namespace] = &share
		}
		shares[resource.Namespace].Targets = append(shares[resource.Namespace].Targets, target)
	}
	if !derived {
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
// that want one RRset, also of several namespaces, and names one of the objects. texts are all that the object says.
// Where it says none of the values they come from elsewhere, and all are kept. An object that external-dns does not
// name (Asker) wants no Record if it does not say the name, and an unknown one if it says none of the values.
func (c *Candidate) KeepTargets(texts []string) {
	said, named := map[string]bool{}, false
	for _, text := range texts {
		words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
		for _, word := range append(words, text) {
			said[makeValue(c.Type, strings.ToLower(word))] = true
			named = named || c.isNamed(word)
		}
	}
	r := c.Record.DeepCopy()
	r.Spec.Values = slices.DeleteFunc(r.Spec.Values, func(value string) bool { return !said[strings.ToLower(value)] })
	switch {
	case c.Asker != "" && !named:
		c.Record = nil
	case len(r.Spec.Values) > 0:
		c.Record = r
	case c.Asker != "":
		c.Err = errUnknown
	}
	c.Asker = ""
}

// isNamed says whether a word of an object is the name of the candidate, or the address that its name is made of.
func (c *Candidate) isNamed(word string) bool {
	if address, err := netip.ParseAddr(word); err == nil {
		return c.Type == rdata.PTR && reverseName(address) == c.Name
	}
	if strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.EqualFold(strings.TrimSuffix(word, "."), strings.TrimSuffix(c.Name.String(), "."))
	}
	fqdn, err := contract.ParseName(word)
	return err == nil && fqdn == c.Name
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

// wants says whether an object of a namespace wants an RRset, or may do so.
func (w Wanted) wants(key contract.Key, namespace string) bool {
	return slices.ContainsFunc(w[key], func(c *Candidate) bool {
		return c.Namespace == namespace && (c.Record != nil || c.Err != nil)
	})
}

// replaces says whether a namespace wants what cannot stand beside an RRset: a CNAME beside others, or another beside
// a CNAME.
func (w Wanted) replaces(key contract.Key, namespace string) bool {
	return slices.ContainsFunc(contract.Types, func(t rdata.Type) bool {
		return (t == rdata.CNAME) != (key.Type == rdata.CNAME) && w.wants(contract.Key{Name: key.Name, Type: t}, namespace)
	})
}

// AddHolders adds the objects of Records that stand while no endpoint of their namespace wants the RRset, but another
// namespace's does: external-dns joins what several objects want, or drops what is equal, and names one of them. The
// source crd also drops all of a name when a target of one DNSEndpoint is none, so that one is asked in any case.
func (m Mapping) AddHolders(s Standing, wanted Wanted) {
	for key, stands := range s {
		others := wanted[key]
		resource, known := m.ResourceOf(stands)
		if !known || wanted.wants(key, stands.Namespace) || len(others) == 0 && resource.Kind != "crd" {
			continue
		}
		c := &Candidate{Key: key, Endpoint: ReadEndpoint(stands), Resource: resource, Namespace: stands.Namespace, note: errShared}
		if len(others) == 0 {
			c.note = errLeft
		}
		if !wanted.replaces(key, stands.Namespace) {
			c.Asker = stands.Namespace
			for _, other := range others {
				c.Asker = cmp.Or(other.Namespace, c.Asker)
				c.Endpoint.Targets = append(c.Endpoint.Targets, other.Endpoint.Targets...)
			}
			c.makeRecord(m)
		}
		wanted[key] = append(others, c)
	}
}

// NeedsVerdict says whether a candidate would change what stands, and has not been judged.
func (s Standing) NeedsVerdict(c *Candidate) bool {
	if c.Record == nil || c.Err != nil || c.Admitted {
		return false
	}
	stands := s[c.Key]
	if stands == nil || stands.Namespace != c.Namespace {
		return stands == nil || !isTaken(stands)
	}
	return c.Asker != "" || !standsAs(stands, c.Record)
}

// Replaced are the Records that go when a candidate comes: a CNAME and other types exclude each other at a name, and
// nothing of the namespace wants those any more.
func (s Standing) Replaced(c *Candidate, wanted Wanted) (replaced []*v1alpha1.Record) {
	for _, other := range s.atName(c.Name) {
		t, _ := rdata.ParseType(other.Spec.Type) // it stands by its type
		if (t == rdata.CNAME) != (c.Type == rdata.CNAME) && other.Namespace == c.Namespace &&
			!wanted.wants(contract.Key{Name: c.Name, Type: t}, c.Namespace) {
			replaced = append(replaced, other)
		}
	}
	return replaced
}

// choice is an answer in the making.
type choice struct {
	answer []*contract.Endpoint
	told   []Candidate
	// open are where something is not let in: of each name all namespaces, since one must not hide another.
	open map[place]bool
	// left are Records that nothing of their namespace wants.
	left []*v1alpha1.Record
}

// place is a name in a namespace.
type place struct {
	at        name.Name
	namespace string
}

var (
	// errHeld is said to an object that comes later than another.
	errHeld = errors.New("another object has this name and type, and keeps it: choose another name, or remove that object")
	// errUnknown, errShared and errLeft are said to an object that keeps its Record.
	errUnknown = errors.New("an object of another namespace wants this name, too, and none of the targets is in this object, so its " +
		"Record stays as it is; run one external-dns for each namespace")
	errShared = errors.New("an object of another namespace wants this name, too; the Record has the targets of this object alone, " +
		"and goes with it")
	errLeft = errors.New("external-dns leaves this object out, and its Record stays: a target is wrong, here or in a DNSEndpoint of " +
		"another namespace with this name, or a filter of external-dns excludes this object; to withdraw the name, remove it here")
)

// Choose returns the answer to external-dns, and the candidates whose objects get an Event with their Err: refused
// ones, and Admitted ones, whose Record stays although external-dns names another object. judged returns a candidate as
// the server has judged it.
func (s Standing) Choose(wanted Wanted, judged func(*Candidate) *Candidate) (answer []*contract.Endpoint, told []Candidate) {
	x := choice{answer: []*contract.Endpoint{}, open: map[place]bool{}}
	for _, key := range slices.SortedFunc(maps.Keys(wanted), compareKeys) {
		var formed []*Candidate
		withdrawn := false
		for _, c := range wanted[key] {
			if c.Record != nil {
				c = judged(c)
			}
			switch {
			case c.Record != nil:
				formed = append(formed, c)
			case c.Err == nil:
				withdrawn = true
			default:
				x.tell(c, c.Err)
				x.open[place{key.Name, c.Namespace}] = true
			}
		}
		if stands := s[key]; stands != nil {
			x.chooseStanding(stands, formed, withdrawn)
		} else {
			x.chooseNew(formed)
		}
	}
	for key, stands := range s {
		if len(wanted[key]) == 0 {
			x.left = append(x.left, stands)
		}
	}
	// What would be replaced by something that is not let in stays.
	for _, stands := range x.left {
		fqdn, _ := name.Parse(stands.Spec.DomainName) // it stands by its name
		if x.open[place{fqdn, stands.Namespace}] {
			x.answer = append(x.answer, ReadEndpoint(stands))
		}
	}
	return x.answer, x.told
}

func (x *choice) tell(c *Candidate, err error) {
	told := *c
	told.Err, told.Admitted = err, err == c.note
	x.told = append(x.told, told)
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
				x.tell(other, errHeld)
			}
			return
		}
		x.open[place{c.Name, c.Namespace}] = true
		if c.Err != nil {
			x.tell(c, c.Err)
		}
	}
}

// chooseStanding decides about an RRset that stands. It stays as it is unless its holder changes or withdraws it, or
// something else is let in while no zone takes what stands.
func (x *choice) chooseStanding(stands *v1alpha1.Record, formed []*Candidate, withdrawn bool) {
	if !isTaken(stands) && slices.ContainsFunc(formed, func(c *Candidate) bool { return c.Admitted && c.Namespace != stands.Namespace }) {
		return // it goes first
	}
	holder := findHolder(stands, formed)
	for _, c := range formed {
		if c != holder && (c.Namespace != stands.Namespace || !standsAs(stands, c.Record)) {
			x.tell(c, errHeld)
		}
	}
	switch {
	case holder == nil && withdrawn:
		x.left = append(x.left, stands)
		return
	case holder == nil:
	case holder.Err != nil:
		x.tell(holder, holder.Err)
	case holder.Admitted && holder.note != nil:
		x.tell(holder, holder.note)
	}
	if holder != nil && holder.Admitted && !standsAs(stands, holder.Record) {
		x.accept(holder)
		return
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
