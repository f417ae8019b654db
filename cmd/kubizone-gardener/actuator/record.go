// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package actuator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	// DefaultTTL is in seconds.
	DefaultTTL = 120
	// OwnerAnnotation is the NAMESPACE/NAME of the Record's DNSRecord.
	OwnerAnnotation = "gardener.kubi.zone/owner"
	// zonePrefix distinguishes status.zone from values of azure-dns and google-clouddns, also NAME/NAME.
	zonePrefix = "kubi.zone/"
	managedBy  = "kubizone-gardener"
	// maxNameText leaves room for type and hash in an object name of 253 characters.
	maxNameText = 200
	// maxString bounds a character-string of TXT in octets (RFC 1035 §3.3).
	maxString = 255
)

func normalizeName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// RecordName returns the name of the Record for a domain name and record type, for example "www-example-org-a-HASH".
func RecordName(domainName string, recordType extensionsv1alpha1.DNSRecordType) string {
	domainName = normalizeName(domainName)
	text := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, domainName)
	text = text[:min(len(text), maxNameText)]
	hash := sha256.Sum256([]byte(domainName + " " + string(recordType)))
	return strings.TrimLeft(text+"-", "-") + strings.ToLower(string(recordType)) + "-" + hex.EncodeToString(hash[:8])
}

func owner(dns *extensionsv1alpha1.DNSRecord) string { return dns.Namespace + "/" + dns.Name }

// makeRecord sets a zoneRef only if spec.zone names a Zone.
func makeRecord(dns *extensionsv1alpha1.DNSRecord, to target) (*v1alpha1.Record, error) {
	values, err := makeValues(dns.Spec.RecordType, dns.Spec.Values)
	if err != nil {
		return nil, err
	}
	ttl := int64(DefaultTTL)
	if dns.Spec.TTL != nil {
		ttl = *dns.Spec.TTL
	}
	if ttl < 0 || ttl > math.MaxInt32 {
		return nil, configurationProblem("spec.ttl %d: a TTL is 0 to %d seconds", ttl, math.MaxInt32)
	}
	seconds := int32(ttl)
	record := &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   to.namespace,
			Name:        RecordName(dns.Spec.Name, dns.Spec.RecordType),
			Labels:      map[string]string{"app.kubernetes.io/managed-by": managedBy},
			Annotations: map[string]string{OwnerAnnotation: owner(dns)},
		},
		Spec: v1alpha1.RecordSpec{
			DomainName: normalizeName(dns.Spec.Name) + ".",
			View:       to.view,
			Type:       string(dns.Spec.RecordType),
			Class:      v1alpha1.ClassIN,
			TTL:        &seconds,
			Values:     values,
		},
	}
	if zone := dns.Spec.Zone; zone != nil && *zone != "" {
		if record.Spec.ZoneRef, err = parseZone(*zone, to); err != nil {
			return nil, err
		}
	}
	return record, nil
}

// zoneForStatus returns the value of status.zone: the Record's Zone, with zonePrefix. Without spec.zone, the first Zone
// stays. A value without the prefix is from another provider, and is replaced.
//
// status.zone does not become a zoneRef. The server allows only the longest enclosing Zone, so a zoneRef would
// be invalid after a split of the Zone.
func zoneForStatus(dns *extensionsv1alpha1.DNSRecord, record *v1alpha1.Record) *string {
	before, current := dns.Status.Zone, record.Status.ZoneRef
	ours := before != nil && strings.HasPrefix(*before, zonePrefix)
	if current == nil || ours && (dns.Spec.Zone == nil || *dns.Spec.Zone == "") {
		return before // nothing new, or the first Zone stays
	}
	if name := zonePrefix + current.Namespace + "/" + current.Name; !ours || *before != name {
		return &name
	}
	return before
}

// parseZone parses [kubi.zone/][NAMESPACE/]NAME. The default namespace is from the Secret.
func parseZone(zone string, to target) (*v1alpha1.ZoneReference, error) {
	zone = strings.TrimPrefix(zone, zonePrefix)
	namespace, name, both := strings.Cut(zone, "/")
	if !both {
		namespace, name = to.namespace, zone
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, configurationProblem("zone %q: give NAMESPACE/NAME of a Zone of Kubizone, or its NAME where it is in namespace %s",
			zone, to.namespace)
	}
	return &v1alpha1.ZoneReference{Namespace: namespace, Name: name}, nil
}

func makeValues(of extensionsv1alpha1.DNSRecordType, values []string) ([]string, error) {
	if len(values) == 0 {
		return nil, configurationProblem("spec.values is empty: give one value at least")
	}
	var out []string
	for _, value := range values {
		text, err := makeValue(of, value)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if of == extensionsv1alpha1.DNSRecordTypeCNAME && len(out) > 1 {
		return nil, configurationProblem("spec.values has %d host names: a CNAME has one (RFC 1034 §3.6.2)", len(out))
	}
	return out, nil
}

func makeValue(of extensionsv1alpha1.DNSRecordType, value string) (string, error) {
	switch of {
	case extensionsv1alpha1.DNSRecordTypeA, extensionsv1alpha1.DNSRecordTypeAAAA:
		address, err := netip.ParseAddr(value)
		if err != nil || address.Zone() != "" || address.Is4() != (of == extensionsv1alpha1.DNSRecordTypeA) {
			return "", configurationProblem("spec.values: %q is no address for type %s", value, of)
		}
		return address.String(), nil
	case extensionsv1alpha1.DNSRecordTypeCNAME:
		if normalizeName(value) == "" {
			return "", configurationProblem("spec.values: %q is no host name", value)
		}
		// Gardener's absolute names lack the trailing dot.
		return normalizeName(value) + ".", nil
	case extensionsv1alpha1.DNSRecordTypeTXT:
		return quoteText(value), nil
	}
	return "", configurationProblem("spec.recordType %q: A, AAAA, CNAME and TXT are served", of)
}

// quoteText formats a text as character-strings, without the enclosing quotes that some of Gardener's clients add.
func quoteText(text string) string {
	if len(text) >= 2 && strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) {
		text = text[1 : len(text)-1]
	}
	var out strings.Builder
	for first := true; first || text != ""; first = false {
		if !first {
			out.WriteByte(' ')
		}
		part := text[:min(len(text), maxString)]
		text = text[len(part):]
		out.WriteByte('"')
		for _, c := range []byte(part) {
			switch {
			case c == '"' || c == '\\':
				out.WriteByte('\\')
				out.WriteByte(c)
			case c < ' ' || c > '~':
				fmt.Fprintf(&out, `\%03d`, c)
			default:
				out.WriteByte(c)
			}
		}
		out.WriteByte('"')
	}
	return out.String()
}
