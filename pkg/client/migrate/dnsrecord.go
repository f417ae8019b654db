// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	webhookGroup = "dns.homelab.mortenolsen.pro"
	webhookTTL   = 300
)

type recordSpec struct {
	Type        string      `json:"type"`
	Domain      string      `json:"domain"`
	Subdomain   string      `json:"subdomain"`
	DNSClassRef namedObject `json:"dnsClassRef"`
	Values      []string    `json:"values"`
	TTL         *int32      `json:"ttl"`
	Description string      `json:"description"`
	Metadata    struct {
		Priority *uint16 `json:"priority"`
		Weight   *uint16 `json:"weight"`
		Port     *uint16 `json:"port"`
	} `json:"metadata"`
}

type namedObject struct {
	Name string `json:"name"`
}

type classSpec struct {
	Server         string             `json:"server"`
	DefaultTTL     *int32             `json:"defaultTTL"`
	TimeoutSeconds *int32             `json:"timeoutSeconds"`
	HMACAuth       *v1alpha1.HMACAuth `json:"hmacAuth"`
}

// convertWebhook leaves Zones to the administrator, because DNSRecords have no rules about namespaces and names.
func (c *conversion) convertWebhook(all []*unstructured.Unstructured) {
	// using has the namespaces by class, having the older DNSRecord of an RRset.
	using, having := make(map[string][]string), make(map[string]*unstructured.Unstructured)
	for _, o := range all {
		if o.GetKind() == "DNSRecord" {
			c.noteRefusal(o, c.convertDNSRecord(o, using, having))
		}
	}
	for _, o := range all {
		switch kind := o.GetKind(); kind {
		case "DNSRecord":
		case "DNSClass":
			c.noteRefusal(o, c.convertDNSClass(o, using[o.GetName()]))
		default:
			c.omit(o, kind+" has no zone data", "")
		}
	}
}

// convertDNSClass converts a DNSClass of the operator. The namespaces are those with DNSRecords of the class, and the
// class may deliver only their zones.
func (c *conversion) convertDNSClass(o *unstructured.Unstructured, namespaces []string) error {
	var spec classSpec
	if err := readSpec(o.Object["spec"], &spec); err != nil {
		return err
	}
	class := v1alpha1.DNSClassSpec{
		DefaultTTL: cmp.Or(spec.DefaultTTL, ptr.To[int32](webhookTTL)),
		Webhook:    &v1alpha1.WebhookProvider{Server: spec.Server, TimeoutSeconds: spec.TimeoutSeconds, HMACAuth: spec.HMACAuth},
	}
	// A DNSClass delivers only zones of the namespaces that it lists.
	if len(namespaces) == 0 {
		c.omit(o, "no DNSRecord of the source has the class, so it may deliver no zone", "set spec.namespaces of the DNSClass")
	} else {
		slices.Sort(namespaces)
		class.Namespaces = &v1alpha1.NamespaceSelection{Names: slices.Compact(namespaces)}
	}
	c.addReplacement(o, "DNSClass", o.GetName(), &class)
	return nil
}

// convertDNSRecord adds the namespace of the record to its class even if it refuses the record, so the class can
// deliver the zone when the record is corrected.
func (c *conversion) convertDNSRecord(o *unstructured.Unstructured, using map[string][]string,
	having map[string]*unstructured.Unstructured) error {
	var spec recordSpec
	err := readSpec(o.Object["spec"], &spec)
	if class := spec.DNSClassRef.Name; class != "" {
		using[class] = append(using[class], o.GetNamespace())
	}
	if err != nil {
		return err
	}
	// The apex has @ as subdomain.
	owner, err := name.Parse(absoluteHost(strings.TrimPrefix(spec.Subdomain+"."+spec.Domain, "@.")))
	if err != nil {
		return fmt.Errorf("spec.subdomain, spec.domain: %w", err)
	}
	record := v1alpha1.RecordSpec{DomainName: owner.String(), Type: strings.ToUpper(spec.Type), TTL: spec.TTL,
		Description: spec.Description}
	values, unused, err := spec.makeValues(record.Type)
	if err != nil {
		return err
	}
	rrset := owner.String() + " " + record.Type
	if older := having[rrset]; older != nil {
		return refuse(fmt.Sprintf("spec.subdomain: DNSRecord %s, which is older, has %s", id(older), rrset), "delete one of the two")
	}
	having[rrset] = o
	if len(unused) > 0 {
		c.omit(o, fmt.Sprintf("spec.metadata: %s has no %s", record.Type, strings.Join(unused, ", ")), "")
	}
	setData(&record, values)
	c.addReplacement(o, "Record", o.GetName(), &record)
	return nil
}

// makeValues returns the values in presentation format, and the fields of spec.metadata that the type does not have:
// the operator's own example has a priority, weight and port on an A.
func (s *recordSpec) makeValues(rrType string) (values, unused []string, err error) {
	t, err := rdata.ParseType(rrType)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.type: %w", err)
	}
	// Priority, weight and port precede the host in the values of MX and SRV.
	before, given := "", []struct {
		field string
		value *uint16
	}{{"priority", s.Metadata.Priority}, {"weight", s.Metadata.Weight}, {"port", s.Metadata.Port}}
	needed := map[rdata.Type]int{rdata.MX: 1, rdata.SRV: 3}[t]
	for i, of := range given {
		switch {
		case i < needed && of.value == nil:
			return nil, nil, fmt.Errorf("spec.metadata.%s: is missing, and %s has it", of.field, t)
		case i >= needed && of.value != nil:
			unused = append(unused, of.field)
		case i < needed:
			before += fmt.Sprint(*of.value) + " "
		}
	}
	if len(s.Values) == 0 {
		return nil, nil, errors.New("spec.values: there are none")
	}
	values = make([]string, len(s.Values))
	for i, value := range s.Values {
		switch t {
		case rdata.CNAME, rdata.MX, rdata.NS, rdata.PTR, rdata.SRV:
			value = before + absoluteHost(value)
		case rdata.TXT:
			value = textValue(value)
		}
		values[i] = value
	}
	return values, unused, nil
}
