// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	strictjson "sigs.k8s.io/json"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	bindyGroup                                              = "bindy.firestoned.io"
	bindyZone                                               = "DNSZone"
	bindyRecordTTL, bindyZoneTTL                            = 300, 3600
	bindyRefresh, bindyRetry, bindyExpire, bindyNegativeTTL = 3600, 600, 604800, 86400
)

type zoneSpecOfBindy struct {
	ZoneName      string            `json:"zoneName"`
	TTL           *int32            `json:"ttl"`
	SOARecord     *soaOfBindy       `json:"soaRecord"`
	SOA           *soaOfBindy       `json:"soa"`
	DNSSECPolicy  string            `json:"dnssecPolicy"`
	NameServers   []hostOfBindy     `json:"nameServers"`
	NameServerIPs map[string]string `json:"nameServerIps"`
	RecordsFrom   []struct {
		Selector metav1.LabelSelector `json:"selector"`
	} `json:"recordsFrom"`
	ClusterRef         any `json:"clusterRef"`
	ClusterProviderRef any `json:"clusterProviderRef"`
	Bind9InstancesFrom any `json:"bind9InstancesFrom"`
}

type soaOfBindy struct {
	PrimaryNS         string `json:"primaryNs"`
	PrimaryNameServer string `json:"primaryNameServer"`
	AdminEmail        string `json:"adminEmail"`
	Serial            uint32 `json:"serial"`
	Refresh           *int32 `json:"refresh"`
	Retry             *int32 `json:"retry"`
	Expire            *int32 `json:"expire"`
	NegativeTTL       *int32 `json:"negativeTtl"`
	TTL               *int32 `json:"ttl"`
}

type hostOfBindy struct {
	Hostname    string `json:"hostname"`
	IPv4Address string `json:"ipv4Address"`
	IPv6Address string `json:"ipv6Address"`
}

type placeOfBindy struct {
	Name    string           `json:"name"`
	TTL     *int32           `json:"ttl"`
	Zone    string           `json:"zone"`
	ZoneRef referenceOfBindy `json:"zoneRef"`
}

type referenceOfBindy struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

func (r *referenceOfBindy) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return strictjson.UnmarshalCaseSensitivePreserveInts(text, &r.Name)
	}
	type fields referenceOfBindy
	unknown, err := strictjson.UnmarshalStrict(text, (*fields)(r))
	return errors.Join(append(unknown, err)...)
}

// kindOfBindy has the data fields in the order of an RR's text. A renamed field has all its names, because no release
// has two.
type kindOfBindy struct {
	rrType string
	fields []string
}

var bindyRecords = map[string]kindOfBindy{
	"ARecord":     {"A", []string{"ipv4Addresses", "ipv4Address", "ipv4"}},
	"AAAARecord":  {"AAAA", []string{"ipv6Addresses", "ipv6Address", "ipv6"}},
	"TXTRecord":   {"TXT", []string{"text"}},
	"CNAMERecord": {"CNAME", []string{"target"}},
	"PTRRecord":   {"PTR", []string{"target"}},
	"NSRecord":    {"NS", []string{"nameserver", "nameServer"}},
	"MXRecord":    {"MX", []string{"priority", "mailServer"}},
	"SRVRecord":   {"SRV", []string{"priority", "weight", "port", "target"}},
	"CAARecord":   {"CAA", []string{"flags", "tag", "value"}},
}

// readRecord returns place and values of a bindy record. Addresses are values of their own, and the fields of any other
// type form one value: "10 mail.example.org." for an MX.
func (k kindOfBindy) readRecord(o *unstructured.Unstructured) (place placeOfBindy, values []string, err error) {
	spec, _ := o.Object["spec"].(map[string]any)
	rest := maps.Clone(spec)
	for _, field := range k.fields {
		// A field is a list or a single value, depending on the release.
		data, isList := rest[field].([]any)
		if one := rest[field]; !isList && one != nil {
			data = []any{one}
		}
		delete(rest, field)
		for _, item := range data {
			text := fmt.Sprint(item)
			switch item.(type) {
			case string, int64:
			default:
				return place, nil, fmt.Errorf("spec.%s: %s is neither a text nor a number", field, text)
			}
			// A text may contain spaces, quotes and semicolons.
			if field == "text" || field == "value" {
				text = rdata.QuoteString(text)
			}
			values = append(values, text)
		}
	}
	if k.rrType != "A" && k.rrType != "AAAA" {
		values = []string{strings.Join(values, " ")} // texts form a single TXT value
	}
	t, _ := rdata.ParseType(k.rrType) // valid in bindyRecords
	for i, text := range values {
		values[i] = rdata.Absolute(t, text)
	}
	return place, values, readSpec(rest, &place)
}

type zoneOfBindy struct {
	object    *unstructured.Unstructured
	fqdn      name.Name
	spec      v1alpha1.ZoneSpec
	selectors []labels.Selector
	refused   bool
	uses      map[string]map[string][]string
	cuts      map[name.Name]bool
}

type zonesOfBindy struct {
	all     []*zoneOfBindy
	serving map[name.Name]*zoneOfBindy
}

// convertBindy converts zones first, since each record needs its zone, and the zone's rules follow from its records.
func (c *conversion) convertBindy(all []*unstructured.Unstructured) {
	zones := &zonesOfBindy{serving: make(map[name.Name]*zoneOfBindy)}
	// 1. Read the zones.
	for _, o := range all {
		if o.GetKind() == bindyZone {
			c.noteRefusal(o, c.readBindyZone(o, zones))
		}
	}
	// 2. Convert the records, and note which names and types each namespace uses.
	records := &conversion{}
	for _, o := range all {
		kind := o.GetKind()
		switch _, known := bindyRecords[kind]; {
		case kind == bindyZone:
		case known:
			records.noteRefusal(o, records.convertBindyRecord(o, zones))
		case strings.HasSuffix(kind, "Record"):
			c.refuse(o, kind+" is a kind of record that this version does not know",
				"write a Record for it, or import with a later version")
		default:
			c.omit(o, kind+" has no zone data", "docs/fleet.md has the servers that Kubizone runs")
		}
	}
	// 3. Add the rules, then the Zones. Zones come before Records in the output, as a Record waits without its zone.
	for _, z := range zones.all {
		if !z.refused {
			c.addRules(z, zones)
			c.addReplacement(z.object, "Zone", z.object.GetName(), &z.spec)
		}
	}
	c.converted, c.found = append(c.converted, records.converted...), append(c.found, records.found...)
}

// readBindyZone adds a DNSZone to zones. After an error the zone is marked as refused, and so are the zone's records.
func (c *conversion) readBindyZone(o *unstructured.Unstructured, zones *zonesOfBindy) error {
	z := &zoneOfBindy{object: o, refused: true, uses: make(map[string]map[string][]string), cuts: make(map[name.Name]bool)}
	zones.all = append(zones.all, z)
	var spec zoneSpecOfBindy
	unread := readSpec(o.Object["spec"], &spec)
	fqdn, err := name.Parse(absoluteHost(spec.ZoneName))
	if err != nil {
		return cmp.Or(unread, fmt.Errorf("spec.zoneName: %w", err))
	}
	z.fqdn = fqdn
	// bindy serves the older of two DNSZones with the same name.
	if older := zones.serving[fqdn]; older != nil {
		return refuse(fmt.Sprintf("spec.zoneName: DNSZone %s, which is older, has the name %s, and bindy serves that one",
			id(older.object), fqdn), "delete one of the two")
	}
	// An unreadable zone keeps its name: records there must not fall to the zone above.
	zones.serving[fqdn] = z
	if unread != nil {
		return unread
	}
	if err := z.takeSpec(&spec); err != nil {
		return err
	}
	z.refused = false

	// Name the fields that are not carried over.
	var delivered []string
	for _, field := range []struct {
		name  string
		value any
	}{
		{"clusterRef", spec.ClusterRef},
		{"clusterProviderRef", spec.ClusterProviderRef},
		{"bind9InstancesFrom", spec.Bind9InstancesFrom},
	} {
		if field.value != nil {
			delivered = append(delivered, "spec."+field.name)
		}
	}
	if len(delivered) > 0 {
		c.omit(o, strings.Join(delivered, ", ")+": name the servers of a zone here by a class", "set dnsClassRefs of the Zone, "+
			"unless its classes are the default ones")
	}
	if policy := spec.DNSSECPolicy; policy != "" && policy != "none" {
		c.omit(o, fmt.Sprintf("spec.dnssecPolicy: %q signs at the servers of bindy; the Zone is transferred unsigned", policy),
			"before the parent names other servers, have these sign the zone with the same keys, or remove its DS: docs/dnssec.md")
	}
	return nil
}

// takeSpec fills the ZoneSpec from the DNSZone, with bindy's defaults for absent timers and TTLs.
func (z *zoneOfBindy) takeSpec(spec *zoneSpecOfBindy) error {
	soa := cmp.Or(spec.SOARecord, spec.SOA)
	if soa == nil {
		return errors.New("spec.soaRecord: is missing")
	}
	for _, from := range spec.RecordsFrom {
		selector, err := metav1.LabelSelectorAsSelector(&from.Selector)
		if err != nil {
			return fmt.Errorf("spec.recordsFrom.selector: %w", err)
		}
		z.selectors = append(z.selectors, selector)
	}
	primary := absoluteHost(cmp.Or(soa.PrimaryNS, soa.PrimaryNameServer))
	contact := soa.AdminEmail
	// adminEmail may be an address with @ or an SOA rname.
	if !strings.Contains(contact, "@") {
		contact = absoluteHost(contact)
	}
	z.spec = v1alpha1.ZoneSpec{
		DomainName:            z.fqdn.String(),
		TTL:                   ptr.To(ptr.Deref(cmp.Or(spec.TTL, soa.TTL), bindyZoneTTL)),
		PrimaryNameServer:     primary,
		Contact:               contact,
		Refresh:               ptr.To(ptr.Deref(soa.Refresh, bindyRefresh)),
		Retry:                 ptr.To(ptr.Deref(soa.Retry, bindyRetry)),
		Expire:                ptr.To(ptr.Deref(soa.Expire, bindyExpire)),
		NegativeResponseCache: ptr.To(ptr.Deref(soa.NegativeTTL, bindyNegativeTTL)),
		// Every name, and every type except those by number.
		Delegations: []v1alpha1.DelegationRule{{
			Namespace: z.object.GetNamespace(),
			Records:   []v1alpha1.RecordDelegation{{Pattern: "@"}, {Pattern: "*"}},
		}},
	}
	// Secondaries of bindy must not see an earlier serial.
	if soa.Serial > 0 {
		z.spec.MinimumSerial = ptr.To(int64(soa.Serial))
	}
	return z.takeNameServers(primary, spec)
}

// takeNameServers adds the name servers of the DNSZone, the primary first, each once.
func (z *zoneOfBindy) takeNameServers(primary string, spec *zoneSpecOfBindy) error {
	hosts := append([]hostOfBindy{{Hostname: primary}}, spec.NameServers...)
	// Without nameServers, nameServerIps has the hosts with their addresses.
	if len(spec.NameServers) == 0 {
		for _, host := range slices.Sorted(maps.Keys(spec.NameServerIPs)) {
			hosts = append(hosts, hostOfBindy{Hostname: host, IPv4Address: spec.NameServerIPs[host]})
		}
	}
	for _, host := range hosts {
		fqdn, err := name.Parse(absoluteHost(host.Hostname))
		if err != nil {
			return fmt.Errorf("spec.nameServers: %w", err)
		}
		servers := z.spec.NameServers
		i := slices.IndexFunc(servers, func(server v1alpha1.NameServer) bool { return server.Name == fqdn.String() })
		if i < 0 {
			i = len(servers)
			servers = append(servers, v1alpha1.NameServer{Name: fqdn.String()})
		}
		for _, address := range []string{host.IPv4Address, host.IPv6Address} {
			if _, err := netip.ParseAddr(address); err != nil && address != "" {
				return fmt.Errorf("spec.nameServers: %s: %q is not an address", host.Hostname, address)
			}
			// A Zone has addresses only of hosts inside it.
			if address != "" && z.fqdn.Encloses(fqdn) && !slices.Contains(servers[i].Addresses, address) {
				servers[i].Addresses = append(servers[i].Addresses, address)
			}
		}
		z.spec.NameServers = servers
	}
	return nil
}

// convertBindyRecord converts a record to a Record in its DNSZone, and notes name and type for the rules of the zone.
// NS of a child zone are left out, since the Zone of the child has them.
func (c *conversion) convertBindyRecord(o *unstructured.Unstructured, zones *zonesOfBindy) error {
	kind := bindyRecords[o.GetKind()]
	place, values, err := kind.readRecord(o)
	if err != nil {
		return err
	}
	owner, err := name.ParseRel(cmp.Or(place.Name, "@"))
	if err != nil {
		return fmt.Errorf("spec.name: %w", err)
	}

	// Find the zone. A record of a refused zone is refused, too.
	z, reason, fix := zones.findZone(o, &place)
	switch {
	case z == nil:
		return refuse(reason, fix)
	case z.refused:
		return refuse(fmt.Sprintf("its DNSZone %s is not imported", id(z.object)), "see the report of the DNSZone")
	}
	fqdn, err := owner.In(z.fqdn)
	if err != nil {
		return fmt.Errorf("spec.name: %w", err)
	}
	namespace, zoneNamespace := o.GetNamespace(), z.object.GetNamespace()
	// A rule for another namespace needs the proof that bindy has served the record.
	if namespace != zoneNamespace && !isServedByBindy(o) {
		return refuse(fmt.Sprintf("it is not Ready, and would get a rule in DNSZone %s, which is of another namespace", id(z.object)),
			"write the rule and the Record, if the owner of the zone wants them")
	}
	// The record is at or below a child zone, so no resolver asks z for the record.
	if longest := zones.enclosing(fqdn); longest != z {
		if kind.rrType == "NS" && fqdn == longest.fqdn {
			z.cuts[fqdn] = true
			c.omit(o, fmt.Sprintf("zone %s takes NS of its child %s from the Zone of that (S6.3)", z.fqdn, fqdn), "")
			return nil
		}
		return refuse(fmt.Sprintf("spec.name: %s lies in DNSZone %s, and resolvers ask no other zone (S2.1)", fqdn, id(longest.object)),
			"write it into that zone, and the address of a name server into its nameServers")
	}
	record := v1alpha1.RecordSpec{
		DomainName: owner.String(),
		ZoneRef:    &v1alpha1.ZoneReference{Name: z.object.GetName()},
		Type:       kind.rrType,
		TTL:        ptr.To(ptr.Deref(place.TTL, bindyRecordTTL)),
	}
	if zoneNamespace != namespace {
		record.ZoneRef.Namespace = zoneNamespace
	}
	setData(&record, values)
	// Objects of two kinds may share a name.
	c.addReplacement(o, "Record", o.GetName()+"-"+strings.ToLower(kind.rrType), &record)

	// The rules of the zone need these names.
	if z.uses[namespace] == nil {
		z.uses[namespace] = make(map[string][]string)
	}
	if types := z.uses[namespace][owner.String()]; !slices.Contains(types, kind.rrType) {
		z.uses[namespace][owner.String()] = append(types, kind.rrType)
	}
	return nil
}

// isServedByBindy reads the status, which authors of records cannot write. Rules for other namespaces cover only names
// served.
func isServedByBindy(o *unstructured.Unstructured) bool {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	readStatus(o, &status)
	return slices.ContainsFunc(status.Conditions, func(condition metav1.Condition) bool {
		return condition.Type == "Ready" && condition.Status == metav1.ConditionTrue
	})
}

func (zones *zonesOfBindy) byName(namespace, object string) *zoneOfBindy {
	for _, z := range zones.all {
		if z.object.GetNamespace() == namespace && z.object.GetName() == object {
			return z
		}
	}
	return nil
}

// findZone returns the DNSZone that a record names, or else the DNSZone that selects the record by labels. Of several,
// it returns the DNSZone in the record's status, which bindy writes. Without a zone, reason and fix are for the user.
func (zones *zonesOfBindy) findZone(o *unstructured.Unstructured, place *placeOfBindy) (z *zoneOfBindy, reason, fix string) {
	here := o.GetNamespace()
	const importBoth = "import it in the same source, or name another one"
	// 1. The zone that the record names.
	if ref := place.ZoneRef; ref.Name != "" {
		namespace := cmp.Or(ref.Namespace, here)
		return zones.byName(namespace, ref.Name), fmt.Sprintf("spec.zoneRef: there is no DNSZone %s/%s", namespace, ref.Name), importBoth
	}
	if place.Zone != "" {
		// The zone's DNS name, or in older releases the object's.
		if fqdn, err := name.Parse(absoluteHost(place.Zone)); err == nil {
			z = zones.serving[fqdn]
		}
		if z == nil {
			z = zones.byName(here, place.Zone)
		}
		return z, "spec.zone: there is no DNSZone with the name " + place.Zone, importBoth
	}
	// 2. The zones that select the record by labels.
	var selected []*zoneOfBindy
	selects := func(selector labels.Selector) bool { return selector.Matches(labels.Set(o.GetLabels())) }
	for _, z := range zones.all {
		if z.object.GetNamespace() == here && slices.ContainsFunc(z.selectors, selects) {
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
	// 3. Of several, the zone that serves the record.
	var status struct {
		Zone    string           `json:"zone"`
		ZoneRef referenceOfBindy `json:"zoneRef"`
	}
	readStatus(o, &status)
	var ids []string
	for _, z := range selected {
		if status.ZoneRef.Name == z.object.GetName() || absoluteHost(status.Zone) == z.fqdn.String() {
			return z, "", ""
		}
		ids = append(ids, id(z.object))
	}
	return nil, fmt.Sprintf("DNSZones %s select it (spec.recordsFrom), and a Record is in one zone", strings.Join(ids, ", ")),
		"write one object for each zone"
}

// enclosing returns the served DNSZone with the longest name at or above fqdn, refused or not, or nil.
func (zones *zonesOfBindy) enclosing(fqdn name.Name) *zoneOfBindy {
	for {
		if z := zones.serving[fqdn]; z != nil {
			return z
		}
		parent, more := fqdn.Parent()
		if !more {
			return nil
		}
		fqdn = parent
	}
}

// addRules adds a rule for each other namespace with Records in the zone, and a joint rule for the namespaces that
// share names: only the namespaces of a single rule share (S4.13). The own namespace's rule stays first.
func (c *conversion) addRules(z *zoneOfBindy, zones *zonesOfBindy) {
	own := z.object.GetNamespace()
	rules := map[string]*v1alpha1.DelegationRule{own: &z.spec.Delegations[0]}
	ruleOf := func(namespace string) *v1alpha1.DelegationRule {
		if rules[namespace] == nil {
			rules[namespace] = &v1alpha1.DelegationRule{Namespace: namespace}
		}
		return rules[namespace]
	}

	// Find the other namespaces at each name. If there are several, they share the name by a joint rule.
	users, types := map[string][]string{}, map[string][]string{} // of other namespaces, by owner
	for _, namespace := range slices.Sorted(maps.Keys(z.uses)) {
		for owner := range z.uses[namespace] {
			if namespace != own {
				users[owner], types[owner] = append(users[owner], namespace), append(types[owner], z.uses[namespace][owner]...)
			}
		}
	}

	// Add each name to the rule of its namespaces. A name that the zone's own namespace has, too, is shared with it.
	for _, owner := range slices.Sorted(maps.Keys(users)) {
		rule := ruleOf(strings.Join(users[owner], ","))
		if rule.Namespace, rule.Namespaces = users[owner][0], nil; len(users[owner]) > 1 {
			rule.Namespace, rule.Namespaces = "", users[owner]
		}
		slices.Sort(types[owner])
		rule.Records = append(rule.Records, v1alpha1.RecordDelegation{Pattern: owner, Types: slices.Compact(types[owner]),
			Shared: len(users[owner]) > 1 || z.uses[own][owner] != nil})
	}

	// Add the child zones. Of another namespace, only those that the parent has delegated by NS.
	for _, child := range zones.serving {
		parent, more := child.fqdn.Parent()
		if !more || child.refused || zones.enclosing(parent) != z {
			continue
		}
		namespace := child.object.GetNamespace()
		if namespace != own && !z.cuts[child.fqdn] {
			c.omit(child.object, fmt.Sprintf("no NS of DNSZone %s, which is of another namespace, delegates it, so it gets no rule there",
				id(z.object)), "the owner of that zone adds a rule with zones, if the name is to be another namespace's")
			continue
		}
		if relative, below := child.fqdn.Rel(z.fqdn); below {
			rule := ruleOf(namespace)
			rule.Zones = append(rule.Zones, relative.String())
			slices.Sort(rule.Zones)
		}
	}
	delete(rules, own)
	for _, namespace := range slices.Sorted(maps.Keys(rules)) {
		z.spec.Delegations = append(z.spec.Delegations, *rules[namespace])
	}
}
