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
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Candidate is an RRset that an object, such as an Ingress, wants in DNS.
type Candidate struct {
	contract.Key
	// Endpoint is the endpoint that external-dns sent. If Asker is set, it is built from the existing Record and other
	// objects' targets.
	Endpoint *contract.Endpoint
	// Resource is the object, or zero if unknown. Namespace is the Record's namespace.
	Resource  Resource
	Namespace string
	// Asker is set if external-dns omits this object, because external-dns names a single object for an RRset of
	// several objects. It is the namespace of the named object, or of this object if none is named. KeepTargets then
	// finds the targets of this object.
	Asker string
	// Record is the Record to write. If nil, the endpoint is invalid (Err is set) or withdrawn (Err is nil).
	Record *v1alpha1.Record
	// Err is the reason why there is no Record, or why the server refuses the Record. Admitted is true after an
	// accepted dry run. If neither is set, the server has not been asked.
	Err        error
	Admitted   bool
	stayReason error // why the object keeps its Record although external-dns omits it
}

// MakeCandidates returns the candidates of endpoints, sorted by RRset, object and targets.
func (m Mapping) MakeCandidates(s Existing, endpoints []*contract.Endpoint) (all []*Candidate) {
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
	c.Key, _ = e.Key() // MakeRecord reports errors
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

func (c *Candidate) makeRecord(m Mapping) {
	e := *c.Endpoint
	if own := slices.DeleteFunc(slices.Clone(e.Targets), isHeritage); len(own) > 0 {
		e.Targets = own
	}
	c.Record, c.Err = m.MakeRecord(&e)
}

type pointer struct{ reverse, host name.Name }

// findSources maps an address's reverse name and its host to the object that wants the address. The object is zero if
// the endpoint has targets of several objects.
func (m Mapping) findSources(s Existing, endpoints []*contract.Endpoint) map[pointer]Resource {
	sources := map[pointer]Resource{}
	for _, e := range endpoints {
		resource, known := ReadResource(e)
		key, err := e.Key()
		hasAddresses := key.Type == rdata.A || key.Type == rdata.AAAA
		if !known || err != nil || !hasAddresses {
			continue
		}

		var holder Resource // of the existing Record
		var heldValues []string
		if current := s[key]; current != nil && isAdopted(current) {
			holder, _ = m.ResourceOf(current)
			heldValues = valuesOf(current)
		}

		for _, target := range e.Targets {
			address, err := netip.ParseAddr(target)
			if err != nil {
				continue
			}
			var object Resource
			switch {
			case slices.Contains(heldValues, address.String()):
				object = holder
			case len(e.Targets) == 1:
				object = resource
			}

			// Of several objects, the first by name counts.
			ptr := pointer{reverse: name.ReverseAddr(address), host: key.Name}
			first := sources[ptr]
			isEarlier := object != (Resource{}) && object.String() < first.String()
			if first == (Resource{}) || isEarlier {
				sources[ptr] = object
			}
		}
	}
	return sources
}

// sharePointer splits a PTR endpoint by the namespaces of its targets' objects. external-dns derives such endpoints
// from addresses (--create-ptr), and names no object. A target of an unknown object is left out.
func sharePointer(e *contract.Endpoint, sources map[pointer]Resource) []*contract.Endpoint {
	key, _ := e.Key() // an invalid name has no hosts
	if _, known := ReadResource(e); known || key.Type != rdata.PTR {
		return []*contract.Endpoint{e}
	}

	shares := map[string]*contract.Endpoint{} // by namespace
	isDerived := false
	for _, target := range slices.Sorted(slices.Values(e.Targets)) {
		host, _ := contract.ParseName(target)
		resource, known := sources[pointer{reverse: key.Name, host: host}]
		isDerived = isDerived || known
		if resource == (Resource{}) {
			continue
		}

		if shares[resource.Namespace] == nil {
			share := *e
			share.Labels, share.Targets = map[string]string{contract.LabelResource: resource.String()}, nil
			shares[resource.Namespace] = &share
		}
		shares[resource.Namespace].Targets = append(shares[resource.Namespace].Targets, target)
	}

	if !isDerived {
		return []*contract.Endpoint{e}
	}
	return slices.Collect(maps.Values(shares))
}

// Texts are texts of an object, each with words such as the names in an annotation.
type Texts struct {
	// Hosts may have names of the object, and Targets the addresses or names that external-dns publishes for it.
	Hosts, Targets []string
	// All has all texts of an object that external-dns names. Others' objects are not searched in them: a tenant could
	// publish the address of a pod, or a word in an environment variable, as another tenant's target.
	All []string
}

// KeepTargets removes the values that are no targets of the candidate's own object, because external-dns joins the
// targets of several objects. If Asker is not set, and the object has none of the values as a target, the values
// anywhere in the object are kept, or all if there are none.
func (c *Candidate) KeepTargets(of Texts) {
	r := c.Record.DeepCopy()
	r.Spec.Values = c.selectValues(of.Targets)
	if len(r.Spec.Values) == 0 && c.Asker == "" {
		r.Spec.Values = c.selectValues(of.All)
	}
	named := slices.ContainsFunc(of.Hosts, func(text string) bool { return slices.ContainsFunc(Words(text), c.isNamed) })
	switch {
	case c.Asker != "" && !named:
		c.Record = nil // the object has withdrawn the name
	case len(r.Spec.Values) > 0:
		c.Record = r
	case c.Asker != "":
		c.Err = errUnknown // named, without any of the values
	}
	c.Asker = ""
}

// selectValues returns the candidate's values that are words of the texts.
func (c *Candidate) selectValues(texts []string) (selected []string) {
	words := map[string]bool{}
	for _, text := range texts {
		for _, word := range Words(text) {
			words[makeValue(c.Type, strings.ToLower(word))] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Record.Spec.Values), func(value string) bool { return !words[strings.ToLower(value)] })
}

func (c *Candidate) isNamed(word string) bool {
	if address, err := netip.ParseAddr(word); err == nil {
		return c.Type == rdata.PTR && name.ReverseAddr(address) == c.Name
	}
	return HostOf(word) == strings.TrimSuffix(c.Name.String(), ".")
}

// Words returns the words of a text, separated by commas and spaces as in annotations, and the text itself.
func Words(text string) []string {
	return append(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), text)
}

// HostOf returns a word as a canonical name without the last dot, or in lower case if the word is no name.
func HostOf(word string) string {
	if strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		if fqdn, err := contract.ParseName(word); err == nil {
			word = fqdn.String()
		}
	}
	return strings.ToLower(strings.TrimSuffix(word, "."))
}

// MakeOther returns a candidate for an object that external-dns may have joined to the endpoint of c, with the targets
// in the object's texts, or nil if the object does not name the RRset. If the object has none of the targets, Err is
// set. TTL and provider's properties are those of c's object, so the candidate has none.
func (m Mapping) MakeOther(c *Candidate, object Resource, texts Texts) *Candidate {
	e := *c.Endpoint
	e.Labels, e.RecordTTL, e.ProviderSpecific = map[string]string{contract.LabelResource: object.String()}, 0, nil
	other := m.makeCandidate(&e)
	if other.Record == nil {
		return nil
	}
	other.Asker = cmp.Or(c.Namespace, object.Namespace)
	if other.KeepTargets(texts); other.Record == nil {
		return nil
	}
	return other
}

type Wanted map[contract.Key][]*Candidate

func Group(candidates []*Candidate) Wanted {
	wanted := Wanted{}
	for _, c := range candidates {
		wanted[c.Key] = append(wanted[c.Key], c)
	}
	return wanted
}

func (w Wanted) wants(key contract.Key, namespace string) bool {
	return slices.ContainsFunc(w[key], func(c *Candidate) bool {
		return c.Namespace == namespace && (c.Record != nil || c.Err != nil)
	})
}

func (w Wanted) replaces(key contract.Key, namespace string) bool {
	return slices.ContainsFunc(contract.Types, func(t rdata.Type) bool {
		return (t == rdata.CNAME) != (key.Type == rdata.CNAME) && w.wants(contract.Key{Name: key.Name, Type: t}, namespace)
	})
}

// AddHolders adds candidates for objects that have existing Records but are no longer named by external-dns, because a
// joined endpoint names a single object. An object gets a candidate if only other namespaces want its RRset. A
// DNSEndpoint gets a candidate even for an unwanted RRset, because external-dns drops all DNSEndpoints of a name if a
// target is invalid.
func (m Mapping) AddHolders(s Existing, wanted Wanted) {
	for key, current := range s {
		others := wanted[key]
		resource, known := m.ResourceOf(current)
		if !known || wanted.wants(key, current.Namespace) {
			continue
		}
		isDNSEndpoint := resource.Kind == "crd"
		if len(others) == 0 && !isDNSEndpoint {
			continue
		}

		c := &Candidate{Key: key, Endpoint: ReadEndpoint(current), Resource: resource, Namespace: current.Namespace, stayReason: errShared}
		if len(others) == 0 {
			c.stayReason = errLeft
		}
		if !wanted.replaces(key, current.Namespace) {
			c.Asker = current.Namespace
			for _, other := range others {
				c.Asker = cmp.Or(other.Namespace, c.Asker)
				c.Endpoint.Targets = append(c.Endpoint.Targets, other.Endpoint.Targets...)
			}
			c.makeRecord(m)
		}
		wanted[key] = append(others, c)
	}
}

// IsFree reports whether an RRset has no Record in a zone, so that the first admitted candidate gets the RRset.
func (s Existing) IsFree(key contract.Key) bool { return s[key] == nil || !isAdopted(s[key]) }

// NeedsVerdict reports whether the server must still be asked about a candidate that would change a Record.
func (s Existing) NeedsVerdict(c *Candidate) bool {
	if c.Record == nil || c.Err != nil || c.Admitted {
		return false
	}
	current := s[c.Key]
	if current == nil || current.Namespace != c.Namespace {
		return current == nil || !isAdopted(current)
	}
	return c.Asker != "" || !matches(current, c.Record)
}

// Replaced returns the existing Records that a candidate excludes and its namespace does not want.
func (s Existing) Replaced(c *Candidate, wanted Wanted) (replaced []*v1alpha1.Record) {
	for _, other := range s.atName(c.Name) {
		otherType, _ := rdata.ParseType(other.Spec.Type) // valid as key of s
		excluded := (otherType == rdata.CNAME) != (c.Type == rdata.CNAME)
		if excluded && other.Namespace == c.Namespace && !wanted.wants(contract.Key{Name: c.Name, Type: otherType}, c.Namespace) {
			replaced = append(replaced, other)
		}
	}
	return replaced
}

type choice struct {
	answer   []*contract.Endpoint
	reported []Candidate
	// unadmitted has a namespace in its key, because a candidate keeps no Record of another namespace.
	unadmitted map[place]bool
	unclaimed  []*v1alpha1.Record
}

type place struct {
	fqdn      name.Name
	namespace string
}

var (
	errHeld    = errors.New("another object has this name and type, and keeps it: choose another name, or remove that object")
	errUnknown = errors.New("an object of another namespace wants this name, too, and none of the targets is in this object, so no " +
		"Record is written or changed; run one external-dns for each namespace")
	errShared = errors.New("an object of another namespace wants this name, too; the Record has the targets of this object alone, " +
		"and is deleted with it")
	errLeft = errors.New("external-dns leaves this object out, and its Record stays: a target is wrong, here or in a DNSEndpoint of " +
		"another namespace with this name, or a filter of external-dns excludes this object; to withdraw the name, remove it here")
)

// Choose returns the answer to external-dns, and the candidates whose objects get an Event with Err. These are refused,
// or are Admitted although external-dns names another object. The function judge returns a candidate with the server's
// verdict.
func (s Existing) Choose(wanted Wanted, judge func(*Candidate) *Candidate) (answer []*contract.Endpoint, reported []Candidate) {
	chosen := choice{answer: []*contract.Endpoint{}, unadmitted: map[place]bool{}}
	for _, key := range slices.SortedFunc(maps.Keys(wanted), compareKeys) {
		formed, withdrawn := chosen.sortCandidates(wanted[key], judge)
		if current := s[key]; current != nil {
			chosen.chooseExisting(current, formed, withdrawn)
		} else {
			chosen.chooseNew(formed)
		}
	}
	for key, current := range s {
		if len(wanted[key]) == 0 {
			chosen.unclaimed = append(chosen.unclaimed, current)
		}
	}
	// A Record stays until its replacement is admitted.
	for _, current := range chosen.unclaimed {
		fqdn, _ := name.Parse(current.Spec.DomainName) // valid as key of s
		if chosen.unadmitted[place{fqdn, current.Namespace}] {
			chosen.keep(current)
		}
	}
	return chosen.answer, chosen.reported
}

// sortCandidates returns the candidates with a Record to write, and whether another is withdrawn. Invalid candidates
// are reported.
func (chosen *choice) sortCandidates(candidates []*Candidate, judge func(*Candidate) *Candidate) (formed []*Candidate, withdrawn bool) {
	for _, c := range candidates {
		if c.Record != nil {
			c = judge(c)
		}
		switch {
		case c.Record != nil:
			formed = append(formed, c)
		case c.Err == nil:
			withdrawn = true
		default:
			chosen.report(c, c.Err)
			chosen.unadmitted[place{c.Name, c.Namespace}] = true
		}
	}
	return formed, withdrawn
}

func (chosen *choice) report(c *Candidate, err error) {
	reported := *c
	reported.Err, reported.Admitted = err, err == c.stayReason
	chosen.reported = append(chosen.reported, reported)
}

func (chosen *choice) accept(c *Candidate) {
	e := ReadEndpoint(c.Record)
	e.DNSName = c.Endpoint.DNSName
	chosen.answer = append(chosen.answer, e)
}

// chooseNew gives an RRset without a Record to the first admitted candidate.
func (chosen *choice) chooseNew(formed []*Candidate) {
	for i, c := range formed {
		if c.Admitted {
			chosen.accept(c)
			for _, other := range formed[i+1:] {
				chosen.report(other, errHeld)
			}
			return
		}
		chosen.unadmitted[place{c.Name, c.Namespace}] = true
		if c.Err != nil {
			chosen.report(c, c.Err)
		}
	}
}

// chooseExisting chooses the endpoint of an RRset with a Record. If the Record has no zone, and a candidate of another
// namespace is admitted, external-dns first deletes the Record.
func (chosen *choice) chooseExisting(current *v1alpha1.Record, formed []*Candidate, withdrawn bool) {
	admittedElsewhere := slices.ContainsFunc(formed, func(c *Candidate) bool {
		return c.Admitted && c.Namespace != current.Namespace
	})
	if !isAdopted(current) && admittedElsewhere {
		return // external-dns deletes a Record without an endpoint
	}

	holder := findHolder(current, formed)
	for _, c := range formed {
		wantsSameRecord := c.Namespace == current.Namespace && matches(current, c.Record)
		if c != holder && !wantsSameRecord {
			chosen.report(c, errHeld)
		}
	}

	switch {
	case holder != nil:
		chosen.chooseHolder(current, holder)
	case withdrawn:
		chosen.unclaimed = append(chosen.unclaimed, current)
	default:
		chosen.keep(current)
	}
}

// chooseHolder lets the holder change the Record as far as the server admits that. Otherwise the Record stays.
func (chosen *choice) chooseHolder(current *v1alpha1.Record, holder *Candidate) {
	switch {
	case holder.Err != nil:
		chosen.report(holder, holder.Err)
	case holder.Admitted && holder.stayReason != nil:
		chosen.report(holder, holder.stayReason)
	}
	if holder.Admitted && !matches(current, holder.Record) {
		chosen.accept(holder)
		return
	}
	chosen.keep(current)
}

func (chosen *choice) keep(current *v1alpha1.Record) {
	chosen.answer = append(chosen.answer, ReadEndpoint(current))
}

func findHolder(current *v1alpha1.Record, formed []*Candidate) (holder *Candidate) {
	own := slices.DeleteFunc(slices.Clone(formed), func(c *Candidate) bool { return c.Namespace != current.Namespace })
	if len(own) == 0 {
		return nil
	}
	resource := current.Annotations[v1alpha1.AnnotationExternalDNSResource]
	return own[max(0, slices.IndexFunc(own, func(c *Candidate) bool { return c.Resource.String() == resource }))]
}
