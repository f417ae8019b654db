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
)

// Candidate is one RRset that one object wants.
type Candidate struct {
	Key
	// Endpoint is what external-dns sent.
	Endpoint *Endpoint
	// Resource is the object; zero where it is not known.
	Resource Resource
	// Namespace is that of the Record.
	Namespace string
	// Record is the wanted one. Nil: Err says why there is none.
	Record *v1alpha1.Record
	Err    error
}

// MakeCandidates makes them, in an order that depends on what they are alone.
func (m Mapping) MakeCandidates(endpoints []*Endpoint) []*Candidate {
	sources := findSources(endpoints)
	var all []*Candidate
	for _, e := range endpoints {
		if resource, ok := ReadResource(e.Labels[labelResource]); ok {
			all = append(all, m.makeCandidate(e, resource))
			continue
		}
		// A PTR endpoint of --create-ptr comes from no object, and may have hosts of several namespaces.
		byNamespace, sourceOf := map[string][]string{}, map[string]Resource{}
		key, _ := e.Key() // an error of it is said of the candidate
		for _, host := range e.Targets {
			resource, ok := sources[pointer{key.Name, strings.TrimSuffix(strings.ToLower(host), ".")}]
			if !ok {
				continue
			}
			byNamespace[resource.Namespace] = append(byNamespace[resource.Namespace], host)
			if first, has := sourceOf[resource.Namespace]; !has || resource.String() < first.String() {
				sourceOf[resource.Namespace] = resource
			}
		}
		for namespace, hosts := range byNamespace {
			one := *e
			one.Targets = hosts
			all = append(all, m.makeCandidate(&one, sourceOf[namespace]))
		}
		if len(byNamespace) == 0 {
			all = append(all, m.makeCandidate(e, Resource{Namespace: m.Default}))
		}
	}
	slices.SortFunc(all, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(a.Key.String(), b.Key.String()), cmp.Compare(a.Resource.String(), b.Resource.String()),
			slices.Compare(a.Endpoint.Targets, b.Endpoint.Targets))
	})
	return all
}

// pointer is a host at the reverse name of an address.
type pointer struct{ at, host string }

// findSources says from which objects the hosts at addresses come.
func findSources(endpoints []*Endpoint) map[pointer]Resource {
	sources := map[pointer]Resource{}
	for _, e := range endpoints {
		resource, ok := ReadResource(e.Labels[labelResource])
		if !ok || e.RecordType != "A" && e.RecordType != "AAAA" {
			continue
		}
		for _, target := range e.Targets {
			address, err := netip.ParseAddr(target)
			at := pointer{reverseName(address), strings.TrimSuffix(strings.ToLower(e.DNSName), ".")}
			if first, has := sources[at]; err == nil && (!has || resource.String() < first.String()) {
				sources[at] = resource
			}
		}
	}
	return sources
}

// reverseName is the name of the PTR records of an address.
func reverseName(address netip.Addr) string {
	octets, form, end := address.AsSlice(), "%[1]x.%[2]x.", "ip6.arpa."
	slices.Reverse(octets)
	if address.Is4() {
		form, end = "%[3]d.", "in-addr.arpa."
	}
	var text strings.Builder
	for _, octet := range octets {
		fmt.Fprintf(&text, form, octet&15, octet>>4, octet)
	}
	return text.String() + end
}

func (m Mapping) makeCandidate(e *Endpoint, resource Resource) *Candidate {
	c := &Candidate{Endpoint: e, Resource: resource}
	if c.Key, c.Err = e.Key(); c.Err != nil {
		return c
	}
	if resource.Namespace == "" {
		c.Err = fmt.Errorf("resource %q: the endpoint comes from no object of a namespace; --default-namespace takes such endpoints",
			e.Labels[labelResource])
		return c
	}
	if c.Namespace, c.Err = m.NamespaceOf(resource.Namespace); c.Err != nil {
		return c
	}
	labelled := *e
	labelled.Labels = map[string]string{labelResource: e.Labels[labelResource]}
	if resource.Kind != "" {
		labelled.Labels[labelResource] = resource.String()
	}
	c.Record, c.Err = m.MakeRecord(&labelled)
	return c
}

// KeepTargets takes away targets that are not of the candidate's object: external-dns joins the endpoints of all
// objects that want one RRset with one TTL, also of several namespaces, and names one of the objects. texts are all
// that the object says. Where it says none of the targets they come from elsewhere, and all are kept.
func (m Mapping) KeepTargets(c *Candidate, texts []string) {
	said := map[string]bool{}
	for _, text := range texts {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
			said[makeValue(c.Type, strings.ToLower(word))] = true
		}
		said[makeValue(c.Type, strings.ToLower(text))] = true
	}
	var kept []string
	for _, target := range c.Endpoint.Targets {
		if said[strings.ToLower(makeValue(c.Type, target))] {
			kept = append(kept, target)
		}
	}
	if len(kept) == 0 || len(kept) == len(c.Endpoint.Targets) {
		return
	}
	one := *c.Endpoint
	one.Targets = kept
	narrowed := m.makeCandidate(&one, c.Resource)
	// What was sent stays known: it says whether the endpoint stands for others as well.
	narrowed.Endpoint = c.Endpoint
	*c = *narrowed
}

// Verdict is what the server says about a candidate.
type Verdict struct {
	// Decided is false where it could not be asked.
	Decided bool
	// Refusal says why it is refused; "" where it is let in.
	Refusal string
}

// NeedsVerdict says whether a candidate would change what stands.
func (s Standing) NeedsVerdict(c *Candidate) bool {
	if c.Err != nil {
		return false
	}
	same := s[c.Key]
	return len(same) == 0 || same[0].Namespace == c.Namespace && !standsAs(same[0], c.Record)
}

// Replaced are the Records that go when a candidate comes: a CNAME and other types exclude each other at a name, and
// nothing wants those any more.
func (s Standing) Replaced(c *Candidate, wanted map[Key][]*Candidate) (replaced []*v1alpha1.Record) {
	for _, other := range s.recordsAt(c.Name) {
		kind := strings.ToUpper(other.Spec.Type)
		if (kind == "CNAME") != (c.Type == "CNAME") && len(wanted[Key{c.Name, kind}]) == 0 && other.Namespace == c.Namespace {
			replaced = append(replaced, other)
		}
	}
	return replaced
}

// recordsAt are the Records at a name, one of each type that external-dns knows.
func (s Standing) recordsAt(fqdn string) (all []*v1alpha1.Record) {
	for _, kind := range []string{"A", "AAAA", "CNAME", "DNAME", "MX", "NAPTR", "NS", "PTR", "SRV", "TXT"} {
		if same := s[Key{fqdn, kind}]; len(same) > 0 {
			all = append(all, same[0])
		}
	}
	return all
}

// ReadTextsAt are the texts of external-dns' registry at a name: each Record there keeps those of all types, since
// external-dns does not write again what it is told of.
func (s Standing) ReadTextsAt(fqdn string) map[string]string {
	texts := map[string]string{}
	for _, r := range s.recordsAt(fqdn) {
		maps.Copy(texts, ReadTexts(r))
	}
	return texts
}

// Group gathers candidates by RRset.
func Group(candidates []*Candidate) map[Key][]*Candidate {
	wanted := map[Key][]*Candidate{}
	for _, c := range candidates {
		wanted[c.Key] = append(wanted[c.Key], c)
	}
	return wanted
}

// Refusal is why one object does not get its RRset.
type Refusal struct {
	*Candidate
	Message string
}

// errHeld is said to an object that comes later than another.
var errHeld = errors.New("another object has this name and type, and keeps it: choose another name, or remove that object")

// Choose says what external-dns is answered, and what is refused.
func (s Standing) Choose(wanted map[Key][]*Candidate, verdict func(*Candidate) Verdict) (answer []*Endpoint, refused []Refusal) {
	refuse := func(c *Candidate, message string) { refused = append(refused, Refusal{c, message}) }
	answered := map[Key]bool{}
	open := map[string]string{} // names with a candidate that is not let in, and its namespace
	accept := func(c *Candidate) {
		e := ReadEndpoint(c.Record)
		e.DNSName = c.Endpoint.DNSName
		answer, answered[c.Key] = append(answer, e), true
	}
	for _, key := range slices.SortedFunc(maps.Keys(wanted), func(a, b Key) int { return cmp.Compare(a.String(), b.String()) }) {
		var judged []*Candidate
		for _, c := range wanted[key] {
			if c.Err != nil {
				refuse(c, c.Err.Error())
				open[key.Name] = c.Namespace
			} else {
				judged = append(judged, c)
			}
		}
		if same := s[key]; len(same) > 0 {
			if s.chooseStanding(same[0], judged, verdict, refuse, accept) || len(judged) == 0 {
				answer, answered[key] = append(answer, ReadEndpoint(same[0])), true
			}
			continue
		}
		for i, c := range judged {
			v := verdict(c)
			if v.Decided && v.Refusal == "" {
				accept(c)
				for _, other := range judged[i+1:] {
					refuse(other, errHeld.Error())
				}
				break
			}
			open[key.Name] = c.Namespace
			if v.Decided {
				refuse(c, v.Refusal)
			}
		}
	}
	// What would be replaced by something that is not let in stays.
	for key, same := range s {
		if namespace, is := open[key.Name]; is && !answered[key] && len(wanted[key]) == 0 && namespace == same[0].Namespace {
			answer = append(answer, ReadEndpoint(same[0]))
		}
	}
	return answer, refused
}

// chooseStanding decides about an RRset that stands. keep is true where it stays as it is.
func (s Standing) chooseStanding(stands *v1alpha1.Record, judged []*Candidate, verdict func(*Candidate) Verdict,
	refuse func(*Candidate, string), accept func(*Candidate)) (keep bool) {
	holder := slices.IndexFunc(judged, func(c *Candidate) bool {
		return c.Namespace == stands.Namespace && c.Resource.String() == stands.Annotations[v1alpha1.AnnotationExternalDNSResource]
	})
	if holder < 0 {
		holder = slices.IndexFunc(judged, func(c *Candidate) bool { return c.Namespace == stands.Namespace })
	}
	for i, c := range judged {
		if i != holder && (c.Namespace != stands.Namespace || !standsAs(stands, c.Record)) {
			refuse(c, errHeld.Error())
		}
	}
	if holder < 0 {
		// external-dns drops one of two equal endpoints, and joins others. Which object it names of several changes, so
		// what has all targets of the Record may stand for its object too.
		return slices.ContainsFunc(judged, func(c *Candidate) bool { return covers(c, stands) })
	}
	c := judged[holder]
	if standsAs(stands, c.Record) {
		return true
	}
	switch v := verdict(c); {
	case v.Decided && v.Refusal == "":
		accept(c)
		return false
	case v.Decided:
		refuse(c, v.Refusal)
	}
	return true
}

// covers says whether all values of a Record are among the targets of an endpoint.
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
