// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	gardenerGroup  = "dns.gardener.cloud"
	gardenerIgnore = gardenerGroup + "/ignore"
)

type entrySpec struct {
	DNSName string `json:"dnsName"`
	TTL     *int32 `json:"ttl"`
	Targets texts  `json:"targets"`
	Text    texts  `json:"text"`
	Resolve bool   `json:"resolveTargetsToAddresses"`
	// OwnerID marks data at the provider, and CNAMELookupInterval is for lookups. Neither matters here.
	OwnerID             any `json:"ownerId"`
	CNAMELookupInterval any `json:"cnameLookupInterval"`
	RoutingPolicy       any `json:"routingPolicy"`
	Reference           any `json:"reference"`
}

// convertGardener converts DNSEntries to Records. DNSAnnotations and providers have no zone data.
func (c *conversion) convertGardener(all []*unstructured.Unstructured) {
	having := make(map[name.Name]*unstructured.Unstructured)
	// The second Record of an entry must not take another entry's object name.
	entries := make(map[string]bool)
	for _, o := range all {
		entries[o.GetKind()+" "+id(o)] = true
	}
	for _, o := range all {
		switch kind := o.GetKind(); kind {
		case "DNSEntry":
			c.noteRefusal(o, c.convertEntry(o, having, entries))
		case "DNSAnnotation":
			c.omit(o, "spec.annotations: the DNSEntries that it caused are imported; here no controller reads annotations of other objects",
				"write Records for what is to come")
		default:
			c.omit(o, kind+" has no zone data", "make a Zone, and a DNSClass for its provider: docs/delivery.md")
		}
	}
}

// convertEntry converts a DNSEntry to one Record, or to two if it has IPv4 and IPv6 addresses. If an older entry has
// the name, the entry is refused.
func (c *conversion) convertEntry(o *unstructured.Unstructured, having map[name.Name]*unstructured.Unstructured,
	entries map[string]bool) error {
	// The spec of an ignored entry may differ from the data that Gardener serves.
	if ignored := o.GetAnnotations()[gardenerIgnore]; ignored != "" && ignored != "false" {
		return refuse(fmt.Sprintf("metadata.annotations: %s is %q, so its present data is not known", gardenerIgnore, ignored),
			"remove the annotation, or write the Record")
	}
	var spec entrySpec
	if err := readSpec(o.Object["spec"], &spec); err != nil {
		return err
	}
	owner, err := name.Parse(absoluteHost(spec.DNSName))
	if err != nil {
		return fmt.Errorf("spec.dnsName: %w", err)
	}
	data, err := spec.makeData()
	if err != nil {
		return err
	}
	if older := having[owner]; older != nil {
		return refuse(fmt.Sprintf("spec.dnsName: DNSEntry %s, which is older, has the name %s", id(older), owner), "delete one of the two")
	}

	// An entry with both A and AAAA makes a second Record, NAME-aaaa.
	second := o.GetName() + "-aaaa"
	if len(data["A"]) > 0 && len(data["AAAA"]) > 0 && entries["DNSEntry "+o.GetNamespace()+"/"+second] {
		return refuse(fmt.Sprintf("metadata.name: its Record of type AAAA would have the name of DNSEntry %s", second),
			"rename one of the two")
	}
	having[owner] = o
	// The provider's default TTL is in the status.
	var status struct {
		TTL *int32 `json:"ttl"`
	}
	readStatus(o, &status)
	object := o.GetName()
	for _, rrType := range []string{"A", "AAAA", "CNAME", "TXT"} {
		if len(data[rrType]) > 0 {
			record := v1alpha1.RecordSpec{DomainName: owner.String(), Type: rrType, TTL: cmp.Or(spec.TTL, status.TTL)}
			setData(&record, data[rrType])
			c.addReplacement(o, "Record", object, &record)
			object = second
		}
	}
	return nil
}

// targetValue returns a target as the value of an address or a CNAME.
func targetValue(target string) (rrtype, value string) {
	address, err := netip.ParseAddr(target)
	switch {
	case err != nil:
		return "CNAME", absoluteHost(target)
	case address.Unmap().Is4(): // an address such as ::ffff:192.0.2.1 is IPv4
		return "A", address.Unmap().String()
	}
	return "AAAA", address.String()
}

// makeData returns the entry's values by type. Fields that need a controller, such as routing policies and several host
// names, are an error.
func (s *entrySpec) makeData() (map[string][]string, error) {
	data := make(map[string][]string)
	for _, target := range s.Targets {
		rrtype, value := targetValue(target)
		data[rrtype] = append(data[rrtype], value)
	}
	for _, text := range s.Text {
		data["TXT"] = append(data["TXT"], textValue(text))
	}
	hosts := len(data["CNAME"])
	for _, fault := range []struct {
		found bool
		text  string
	}{
		{s.RoutingPolicy != nil, "spec.routingPolicy: answers by weight, place or health are not served"},
		{s.Reference != nil, "spec.reference: the data is that of another DNSEntry; write targets or text of that one here"},
		{len(data) == 0, "spec.targets: neither targets nor text is set"},
		{min(len(s.Targets), len(s.Text)) > 0, "spec.text: targets is set, too; keep one of them"},
		// A single host name makes a CNAME. Several need a look-up at each answer.
		{hosts > 0 && (s.Resolve || len(s.Targets) > 1), "spec.targets: host names that a controller looks up and replaces by " +
			"addresses; write the addresses, or one host name for a CNAME"},
	} {
		if fault.found {
			return nil, errors.New(fault.text)
		}
	}
	return data, nil
}

// textValue returns a text as quoted strings of at most 255 octets. A text in quotes is taken as written.
func textValue(text string) string {
	if len(text) > 1 && strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) {
		return text
	}
	return rdata.QuoteText(text)
}
