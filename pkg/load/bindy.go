// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

const (
	bindyGroup = "bindy.firestoned.io"
	bindyZone  = "DNSZone"
	// The values that bindy serves for absent fields.
	bindyRecordTTL, bindyZoneTTL                                  = 300, 3600
	bindyRefresh, bindyRetry, bindyExpire, bindyNegativeTTL int64 = 3600, 600, 604800, 86400
	bindyMaxTTL, bindyMaxSerial                                   = math.MaxInt32, math.MaxUint32
)

// bindyRecords has the type of each kind of record, and reads its data.
var bindyRecords = map[string]struct {
	rrType string
	data   func(s *specReader) []string
}{
	"ARecord": {"A", func(s *specReader) []string {
		return s.requireTexts("ipv4Addresses", "ipv4Address", "ipv4")
	}},
	"AAAARecord": {"AAAA", func(s *specReader) []string {
		return s.requireTexts("ipv6Addresses", "ipv6Address", "ipv6")
	}},
	// The texts are the character strings of one value.
	"TXTRecord": {"TXT", func(s *specReader) []string {
		var quoted []string
		for _, text := range s.requireTexts("text") {
			quoted = append(quoted, quoteText(text))
		}
		return []string{strings.Join(quoted, " ")}
	}},
	"CNAMERecord": {"CNAME", func(s *specReader) []string { return []string{s.requireHost("target")} }},
	"PTRRecord":   {"PTR", func(s *specReader) []string { return []string{s.requireHost("target")} }},
	"NSRecord":    {"NS", func(s *specReader) []string { return []string{s.requireHost("nameserver", "nameServer")} }},
	"MXRecord": {"MX", func(s *specReader) []string {
		return []string{fmt.Sprintf("%d %s", s.requireNumber("priority"), s.requireHost("mailServer"))}
	}},
	"SRVRecord": {"SRV", func(s *specReader) []string {
		return []string{fmt.Sprintf("%d %d %d %s", s.requireNumber("priority"), s.requireNumber("weight"), s.requireNumber("port"),
			s.requireHost("target"))}
	}},
	"CAARecord": {"CAA", func(s *specReader) []string {
		flags, tag, value := s.readInteger(0, math.MaxUint8, "flags"), s.readText("tag"), s.readText("value")
		s.require("tag", tag != "")
		return []string{fmt.Sprintf("%d %s %s", ptr.Deref(flags, 0), tag, quoteText(value))}
	}},
}

func (s *specReader) requireTexts(fields ...string) []string {
	all := s.readTexts(fields...)
	s.require(fields[0], len(all) > 0)
	return all
}

func (s *specReader) requireHost(fields ...string) string {
	text := s.readText(fields...)
	s.require(fields[0], text != "")
	return absoluteHost(text)
}

func (s *specReader) requireNumber(field string) int64 {
	n := s.readInteger(0, math.MaxUint16, field)
	s.require(field, n != nil || s.fields[field] != nil)
	return ptr.Deref(n, 0)
}

func bindyKinds() []string {
	return append([]string{bindyZone}, slices.Sorted(maps.Keys(bindyRecords))...)
}

// zoneOfBindy is a DNSZone and the Zone that it becomes.
type zoneOfBindy struct {
	was  *manifest
	fqdn name.Name
	spec v1alpha1.ZoneSpec
	// selectors are those of recordsFrom, which select in the namespace of the DNSZone.
	selectors []labels.Selector
	// refused: it is not imported, so its records are not either.
	refused bool
	// uses has, for each namespace and owner name, the types of the records that are imported.
	uses map[string]map[string][]string
	// cuts are the child zones for which NS stand in this zone.
	cuts map[name.Name]bool
}

func (z *zoneOfBindy) id() string { return z.was.object.GetNamespace() + "/" + z.was.object.GetName() }

// convertBindy converts DNSZones and the kinds of records of bindy.
func convertBindy(c *conversion, all []*manifest) []*manifest {
	var zones []*zoneOfBindy
	serving := make(map[name.Name]*zoneOfBindy)
	for _, m := range all {
		if m.object.GetKind() != bindyZone {
			continue
		}
		z := readBindyZone(c, m)
		zones = append(zones, z)
		if z.fqdn.IsZero() {
			continue
		}
		if older := serving[z.fqdn]; older != nil {
			if !z.refused {
				c.refuse(m, fmt.Sprintf("spec.zoneName: DNSZone %s, which is older, has the name %s, and bindy serves that one", older.id(),
					z.fqdn), "delete one of the two")
			}
			z.refused = true
			continue
		}
		serving[z.fqdn] = z
	}
	var records []*manifest
	for _, m := range all {
		kind := m.object.GetKind()
		if kind == bindyZone {
			continue
		}
		if _, known := bindyRecords[kind]; !known && strings.HasSuffix(kind, "Record") {
			c.refuse(m, kind+" is a kind of record that this version does not know", "write a Record for it, "+
				"or import with a later version")
			continue
		} else if !known {
			c.omit(m, fmt.Sprintf("%s has no zone data", kind), "docs/fleet.md has the servers that Kubizone runs")
			continue
		}
		if record := convertBindyRecord(c, m, zones, serving); record != nil {
			records = append(records, record)
		}
	}
	var converted []*manifest
	for _, z := range zones {
		if z.refused {
			continue
		}
		z.addRules(c, serving)
		if m := c.makeReplacement(z.was, z.was.object.GetName(), &z.spec, "Zone"); m != nil {
			converted = append(converted, m)
		}
	}
	return append(converted, records...)
}

func readBindyZone(c *conversion, m *manifest) *zoneOfBindy {
	z := &zoneOfBindy{was: m, uses: make(map[string]map[string][]string), cuts: make(map[name.Name]bool)}
	s := newSpecReader(m.object)
	zoneName := s.readText("zoneName")
	s.require("zoneName", zoneName != "")
	if zoneName != "" {
		fqdn, err := name.Parse(absoluteHost(zoneName))
		if err != nil {
			s.fault("spec.zoneName: %v", err)
		}
		z.fqdn = fqdn
	}
	// Servers and keys are no data of a zone.
	delivered := make([]string, 0, 3)
	for _, field := range []string{"clusterRef", "clusterProviderRef", "bind9InstancesFrom"} {
		if found, at := s.findField(field); found != nil {
			delivered = append(delivered, at)
		}
	}
	policy := s.readText("dnssecPolicy")
	soa := z.readSOA(s)
	z.readSelectors(s)
	servers := z.readNameServers(s, soa)
	s.refuseUnknown()
	if len(*s.faults) > 0 {
		c.refuse(m, strings.Join(*s.faults, "; "), fixFaults)
		z.refused = true
		return z
	}
	spec, err := zoneSpec(soa.row, m.object.GetNamespace(), func(r Refusal) { c.omit(m, "spec.soaRecord: "+r.Reason, r.Fix) })
	if err != nil {
		c.refuse(m, "spec.soaRecord: "+err.Error(), fixFaults)
		z.refused = true
		return z
	}
	if soa.contact != "" {
		spec.Contact = soa.contact
	}
	z.spec = spec
	z.spec.NameServers = servers
	if len(delivered) > 0 {
		c.omit(m, strings.Join(delivered, ", ")+": name the servers of a zone here by a class", "set dnsClassRefs of the Zone, "+
			"unless its classes are the default ones")
	}
	if policy != "" && policy != "none" {
		c.omit(m, fmt.Sprintf("spec.dnssecPolicy: %q signs at the servers of bindy; the Zone is transferred unsigned", policy),
			"before the parent names other servers, have these sign the zone with the same keys, or remove its DS: docs/dnssec.md")
	}
	return z
}

// soaOfBindy is an SOA as a zone file has it, and a contact that is written as a mail address.
type soaOfBindy struct {
	row     zonefile.RR
	primary string
	contact string
}

func (z *zoneOfBindy) readSOA(s *specReader) soaOfBindy {
	ttl := s.readSeconds("ttl")
	soa := s.readObject("soaRecord", "soa")
	if soa == nil {
		s.require("soaRecord", false)
		return soaOfBindy{}
	}
	read := soaOfBindy{primary: absoluteHost(soa.readText("primaryNs", "primaryNameServer"))}
	soa.require("primaryNs", read.primary != "")
	contact := soa.readText("adminEmail")
	soa.require("adminEmail", contact != "")
	if strings.Contains(contact, "@") {
		read.contact, contact = contact, "hostmaster" // which the mail address replaces
	}
	if other := soa.readSeconds("ttl"); ttl == nil {
		ttl = other
	}
	number := func(field string, high int64, absent int64) int64 {
		return ptr.Deref(soa.readInteger(0, high, field), absent)
	}
	row := fmt.Sprintf("%s %s %d %d %d %d %d", read.primary, absoluteHost(contact), number("serial", bindyMaxSerial, 0),
		number("refresh", bindyMaxTTL, bindyRefresh), number("retry", bindyMaxTTL, bindyRetry),
		number("expire", bindyMaxTTL, bindyExpire), number("negativeTtl", bindyMaxTTL, bindyNegativeTTL))
	soa.refuseUnknown()
	read.row = zonefile.RR{Name: z.fqdn, TTL: uint32(ptr.Deref(ttl, bindyZoneTTL)), Data: row}
	return read
}

func (z *zoneOfBindy) readSelectors(s *specReader) {
	for _, source := range s.readObjects("recordsFrom") {
		var selector metav1.LabelSelector
		if found, at := source.findField("selector"); found != nil {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(source.enterObject(at, found).fields, &selector,
				true); err != nil {
				s.fault("%s: %v", at, err)
				continue
			}
		}
		source.refuseUnknown()
		parsed, err := metav1.LabelSelectorAsSelector(&selector)
		if err != nil {
			s.fault("%s.selector: %v", source.path, err)
			continue
		}
		z.selectors = append(z.selectors, parsed)
	}
}

// readNameServers returns the name servers that bindy has at the apex: the one of the SOA, then those of nameServers,
// or of nameServerIps if nameServers is absent.
func (z *zoneOfBindy) readNameServers(s *specReader, soa soaOfBindy) []v1alpha1.NameServer {
	servers := []v1alpha1.NameServer{{Name: soa.primary}}
	add := func(host string, addresses ...string) {
		fqdn, err := name.Parse(absoluteHost(host))
		if err != nil {
			s.fault("spec.nameServers: %v", err)
			return
		}
		addresses = slices.DeleteFunc(addresses, func(address string) bool {
			if _, err := netip.ParseAddr(address); err != nil && address != "" {
				s.fault("spec.nameServers: %s: %q is not an address", host, address)
			}
			// A zone has addresses of hosts in it alone.
			return address == "" || !z.fqdn.Encloses(fqdn)
		})
		i := slices.IndexFunc(servers, func(server v1alpha1.NameServer) bool { return strings.EqualFold(server.Name, fqdn.String()) })
		if i < 0 {
			i = len(servers)
			servers = append(servers, v1alpha1.NameServer{Name: fqdn.String()})
		}
		for _, address := range addresses {
			if !slices.Contains(servers[i].Addresses, address) {
				servers[i].Addresses = append(servers[i].Addresses, address)
			}
		}
	}
	named := s.readObjects("nameServers")
	for _, server := range named {
		host := server.readText("hostname")
		server.require("hostname", host != "")
		ipv4, ipv6 := server.readText("ipv4Address"), server.readText("ipv6Address")
		server.refuseUnknown()
		if host != "" {
			add(host, ipv4, ipv6)
		}
	}
	if older := s.readObject("nameServerIps"); older != nil && len(named) == 0 {
		for _, host := range slices.Sorted(maps.Keys(older.fields)) {
			add(host, older.readText(host))
		}
	}
	return servers
}

func convertBindyRecord(c *conversion, m *manifest, zones []*zoneOfBindy, serving map[name.Name]*zoneOfBindy) *manifest {
	kind := bindyRecords[m.object.GetKind()]
	s := newSpecReader(m.object)
	z, reason, fix := findBindyZone(s, m, zones, serving)
	owner, err := name.ParseRel(cmp.Or(s.readText("name"), "@"))
	if err != nil {
		s.fault("spec.name: %v", err)
	}
	ttl := s.readSeconds("ttl")
	data := kind.data(s)
	s.refuseUnknown()
	if len(*s.faults) > 0 {
		c.refuse(m, strings.Join(*s.faults, "; "), fixFaults)
		return nil
	}
	switch {
	case z == nil:
		c.refuse(m, reason, fix)
		return nil
	case z.refused:
		c.refuse(m, fmt.Sprintf("its DNSZone %s is not imported", z.id()), "see the report of the DNSZone")
		return nil
	}
	fqdn, err := owner.In(z.fqdn)
	if err != nil {
		c.refuse(m, fmt.Sprintf("spec.name: %v", err), fixFaults)
		return nil
	}
	namespace := m.object.GetNamespace()
	if namespace != z.was.object.GetNamespace() && !isServedByBindy(m) {
		c.refuse(m, fmt.Sprintf("it is not Ready, and would get a rule in DNSZone %s, which is of another namespace", z.id()),
			"write the rule and the Record, if the owner of the zone wants them")
		return nil
	}
	if longest := enclosingBindyZone(fqdn, serving); longest != z {
		if kind.rrType == "NS" && fqdn == longest.fqdn {
			z.cuts[fqdn] = true
			c.omit(m, fmt.Sprintf("zone %s takes NS of its child %s from the Zone of that (S3.1)", z.fqdn, fqdn), "")
			return nil
		}
		c.refuse(m, fmt.Sprintf("spec.name: %s lies in DNSZone %s, and resolvers ask no other zone (S2.1)", fqdn, longest.id()),
			"write it into that zone, and the address of a name server into its nameServers")
		return nil
	}
	spec := v1alpha1.RecordSpec{DomainName: owner.String(), ZoneRef: &v1alpha1.ZoneReference{Name: z.was.object.GetName()},
		Type: kind.rrType}
	if zoneNamespace := z.was.object.GetNamespace(); zoneNamespace != namespace {
		spec.ZoneRef.Namespace = zoneNamespace
	}
	// bindy does not use the TTL of the zone here.
	spec.TTL = ptr.To(ptr.Deref(ttl, bindyRecordTTL))
	setData(&spec, data)
	// Objects of two kinds may have one name.
	record := c.makeReplacement(m, m.object.GetName()+"-"+strings.ToLower(kind.rrType), &spec, "Record")
	if record == nil {
		return nil
	}
	if z.uses[namespace] == nil {
		z.uses[namespace] = make(map[string][]string)
	}
	if types := z.uses[namespace][owner.String()]; !slices.Contains(types, kind.rrType) {
		z.uses[namespace][owner.String()] = append(types, kind.rrType)
	}
	return record
}

// isServedByBindy reports what the operator says in the status, which authors of records cannot write: a rule for
// another namespace is made of names that it has, and not of names that it wants.
func isServedByBindy(m *manifest) bool {
	conditions, _, _ := unstructured.NestedSlice(m.object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Ready" && fields["status"] == "True"
	})
}

// findBindyZone finds the DNSZone that takes a record: the one that the record names, or else the one that selects it
// by its labels. Of several that select it, bindy writes into the one of its status.
func findBindyZone(s *specReader, m *manifest, zones []*zoneOfBindy, serving map[name.Name]*zoneOfBindy) (z *zoneOfBindy, reason,
	fix string) {
	inNamespace := func(namespace, object string) *zoneOfBindy {
		i := slices.IndexFunc(zones, func(z *zoneOfBindy) bool {
			return z.was.object.GetNamespace() == namespace && z.was.object.GetName() == object
		})
		if i < 0 {
			return nil
		}
		return zones[i]
	}
	here := m.object.GetNamespace()
	named := s.readText("zone")
	var object, namespace string
	if ref, isObject := s.fields["zoneRef"].(map[string]any); isObject {
		below := s.enterObject("spec.zoneRef", ref)
		s.asked["zoneRef"] = true
		object, namespace = below.readText("name"), below.readText("namespace")
		below.refuseUnknown()
	} else {
		object = s.readText("zoneRef")
	}
	switch {
	case object != "":
		z = inNamespace(cmp.Or(namespace, here), object)
		return z, fmt.Sprintf("spec.zoneRef: there is no DNSZone %s/%s", cmp.Or(namespace, here), object), "import it in the same " +
			"source, or name another one"
	case named != "":
		// The name of the zone, or in older releases that of the object.
		if fqdn, err := name.Parse(absoluteHost(named)); err == nil {
			z = serving[fqdn]
		}
		if z == nil {
			z = inNamespace(here, named)
		}
		return z, fmt.Sprintf("spec.zone: there is no DNSZone with the name %s", named), "import it in the same source, or name another one"
	}
	var selected []*zoneOfBindy
	for _, z := range zones {
		if z.was.object.GetNamespace() == here &&
			slices.ContainsFunc(z.selectors,
				func(selector labels.Selector) bool { return selector.Matches(labels.Set(m.object.GetLabels())) }) {
			selected = append(selected, z)
		}
	}
	switch len(selected) {
	case 0:
		return nil, "no DNSZone of its namespace selects it by its labels (spec.recordsFrom), so bindy does not serve it",
			"delete it, or have a DNSZone select it"
	case 1:
		return selected[0], "", ""
	}
	status, _ := m.object.Object["status"].(map[string]any)
	ref, _ := status["zoneRef"].(map[string]any)
	var ids []string
	for _, z := range selected {
		if ref["name"] == z.was.object.GetName() || status["zone"] != nil && absoluteHost(fmt.Sprint(status["zone"])) == z.fqdn.String() {
			return z, "", ""
		}
		ids = append(ids, z.id())
	}
	return nil, fmt.Sprintf("DNSZones %s select it (spec.recordsFrom), and a Record is in one zone", strings.Join(ids, ", ")),
		"write one object for each zone"
}

// enclosingBindyZone is the DNSZone with the longest name that encloses fqdn.
func enclosingBindyZone(fqdn name.Name, serving map[name.Name]*zoneOfBindy) *zoneOfBindy {
	for {
		if z := serving[fqdn]; z != nil {
			return z
		}
		parent, more := fqdn.Parent()
		if !more {
			return nil
		}
		fqdn = parent
	}
}

// addRules adds the rules for what other namespaces have in the zone: each name and type of their records, and the
// names of child zones, those of other namespaces where the zone has NS for them. The rule for the zone's own
// namespace stands first.
func (z *zoneOfBindy) addRules(c *conversion, serving map[name.Name]*zoneOfBindy) {
	own := z.was.object.GetNamespace()
	others := make(map[string]*v1alpha1.DelegationRule)
	ruleOf := func(namespace string) *v1alpha1.DelegationRule {
		if namespace == own {
			return &z.spec.Delegations[0]
		}
		if others[namespace] == nil {
			others[namespace] = &v1alpha1.DelegationRule{Namespace: namespace}
		}
		return others[namespace]
	}
	users := make(map[string]int)
	for _, owners := range z.uses {
		for owner := range owners {
			users[owner]++
		}
	}
	for namespace, owners := range z.uses {
		if namespace == own {
			continue
		}
		rule := ruleOf(namespace)
		for _, owner := range slices.Sorted(maps.Keys(owners)) {
			rule.Records = append(rule.Records, v1alpha1.RecordDelegation{Pattern: owner,
				Types: slices.Sorted(slices.Values(owners[owner])), Shared: users[owner] > 1})
		}
	}
	for _, child := range serving {
		parent, more := child.fqdn.Parent()
		if !more || child.refused || enclosingBindyZone(parent, serving) != z {
			continue
		}
		namespace := child.was.object.GetNamespace()
		if namespace != own && !z.cuts[child.fqdn] {
			c.omit(child.was, fmt.Sprintf("no NS of DNSZone %s, which is of another namespace, delegates it, so it gets no rule there",
				z.id()), "the owner of that zone adds a rule with zones, if the name is to be another namespace's")
			continue
		}
		if relative, below := child.fqdn.Rel(z.fqdn); below {
			rule := ruleOf(namespace)
			rule.Zones = append(rule.Zones, relative.String())
			slices.Sort(rule.Zones)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(others)) {
		z.spec.Delegations = append(z.spec.Delegations, *others[namespace])
	}
}
