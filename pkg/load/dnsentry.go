// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	// entryGroup is the group of external-dns-management, which Gardener's service for DNS names of shoots runs.
	entryGroup = "dns.gardener.cloud"
	// ignoreAnnotation of a DNSEntry has its controller leave it alone.
	ignoreAnnotation = entryGroup + "/ignore"
	// maxString is how many octets a character-string of TXT holds (RFC 1035 §3.3).
	maxString = 255
)

// dnsEntry is what a Record needs of a DNSEntry.
type dnsEntry struct {
	Spec struct {
		DNSName   string   `json:"dnsName"`
		TTL       *int32   `json:"ttl"`
		Targets   []string `json:"targets"`
		Text      []string `json:"text"`
		Resolve   *bool    `json:"resolveTargetsToAddresses"`
		Reference *struct {
			Name string `json:"name"`
		} `json:"reference"`
		RoutingPolicy *struct {
			Type string `json:"type"`
		} `json:"routingPolicy"`
	} `json:"spec"`
}

// convertDNSEntries puts Records in the place of the objects of external-dns-management.
func (l *Loader) convertDNSEntries(all []*manifest) (converted []*manifest, refused int) {
	for _, m := range all {
		if m.object.GroupVersionKind().Group != entryGroup {
			converted = append(converted, m)
			continue
		}
		records, reason, fix := fromDNSEntry(m.object)
		if reason != "" {
			l.reportRefused(Refusal{Path: m.path, Lines: []int{m.line}, Text: m.describe(), Reason: reason, Fix: fix})
			refused++
			continue
		}
		for _, record := range records {
			converted = append(converted, &manifest{path: m.path, line: m.line, object: record})
		}
	}
	return converted, refused
}

// fromDNSEntry converts a DNSEntry: one Record for its texts or its host name, or one for each family of its addresses.
// A reason is returned for an object that has no equivalent here.
//
// Of the metadata it keeps what identifies the entry. Its owners go: the garbage collector of another cluster, which
// has none of them, would delete the Record.
func fromDNSEntry(o *unstructured.Unstructured) (records []*unstructured.Unstructured, reason, fix string) {
	switch o.GetKind() {
	case "DNSEntry":
	case "DNSAnnotation":
		return nil, "it has no name and no value of its own: it annotates another object", "write a Record for each name that this object asks for"
	default:
		return nil, fmt.Sprintf("kind %s has no equivalent", o.GetKind()), "export dnsentries." + entryGroup + " alone"
	}
	if o.GetDeletionTimestamp() != nil {
		return nil, "it is being deleted", "let it go, or make it again"
	}
	if o.GetAnnotations()[ignoreAnnotation] != "" {
		return nil, "it has the annotation " + ignoreAnnotation, "remove the annotation, if the name is to be served"
	}
	var entry dnsEntry
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &entry); err != nil {
		return nil, err.Error(), ""
	}
	spec := entry.Spec
	switch {
	case spec.Reference != nil:
		return nil, "spec.reference: it takes its values from DNSEntry " + spec.Reference.Name, "write the values of that one into it"
	case spec.RoutingPolicy != nil:
		return nil, "spec.routingPolicy: a zone gives every client the same answer", "keep the targets that every client may have, and remove routingPolicy"
	case spec.Resolve != nil && *spec.Resolve:
		return nil, "spec.resolveTargetsToAddresses: no server here looks addresses up", "write the addresses, or the one host name without resolveTargetsToAddresses"
	case spec.DNSName == "":
		return nil, "spec.dnsName is missing", "write the domain name"
	case len(spec.Targets) > 0 && len(spec.Text) > 0:
		return nil, "it has targets and texts", "make two of it"
	}
	values := map[string][]string{}
	for _, target := range spec.Targets {
		address, err := netip.ParseAddr(target)
		switch {
		case err != nil:
			values["CNAME"] = append(values["CNAME"], strings.TrimSuffix(target, ".")+".")
		case address.Is4():
			values["A"] = append(values["A"], target)
		default:
			values["AAAA"] = append(values["AAAA"], target)
		}
	}
	for _, text := range spec.Text {
		values["TXT"] = append(values["TXT"], quoteText(text))
	}
	if names := len(values["CNAME"]); names > 1 || names == 1 && len(values) > 1 {
		return nil, "spec.targets has several host names, or one beside addresses: no server here looks addresses up", "write the addresses, or one host name"
	}
	for _, of := range []string{"A", "AAAA", "CNAME", "TXT"} {
		if len(values[of]) > 0 {
			records = append(records, newEntryRecord(o, &entry, of, values[of], len(records) > 0))
		}
	}
	if len(records) == 0 {
		return nil, "it has neither targets nor texts", "write one of the two"
	}
	return records, "", ""
}

// newEntryRecord is the Record of one type. The second of an entry has the type in its name.
func newEntryRecord(o *unstructured.Unstructured, entry *dnsEntry, of string, values []string, second bool) *unstructured.Unstructured {
	record := &unstructured.Unstructured{Object: map[string]any{}}
	record.SetAPIVersion(v1alpha1.SchemeGroupVersion.String())
	record.SetKind("Record")
	record.SetNamespace(o.GetNamespace())
	record.SetName(o.GetName())
	if second {
		record.SetName(o.GetName() + "-" + strings.ToLower(of))
	}
	record.SetLabels(o.GetLabels())
	record.SetCreationTimestamp(o.GetCreationTimestamp())
	all := make([]any, len(values))
	for i, value := range values {
		all[i] = value
	}
	spec := map[string]any{"domainName": strings.TrimSuffix(entry.Spec.DNSName, ".") + ".", "type": of, "values": all}
	if entry.Spec.TTL != nil {
		spec["ttl"] = int64(*entry.Spec.TTL)
	}
	record.Object["spec"] = spec
	return record
}

// quoteText writes a text as character-strings.
func quoteText(text string) string {
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
