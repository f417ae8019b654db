// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

const (
	devGroup    = "dev." + v1alpha1.GroupName
	parentLabel = v1alpha1.GroupName + "/parent-zone"
)

// convertV0 takes over a Zone or Record of an earlier Kubizone. The status stays, because ServedBefore reads it.
// Kubizone's owner references and all finalizers go: the garbage collector would delete an object with an owner of
// another uid, and no controller would remove the finalizers.
func (c *conversion) convertV0(o *unstructured.Unstructured) {
	kind := o.GroupVersionKind()
	switch {
	// A file may have objects of any kind, such as a Deployment beside the Zones.
	case !isOwnGroup(kind.Group):
		c.refuse(o, fmt.Sprintf("%s is of no operator that is imported from", o.GetAPIVersion()),
			"export the others alone, or write Zones and Records for it: docs/migration.md")
		return
	case kind.Kind != "Zone" && kind.Kind != "Record":
		c.refuse(o, fmt.Sprintf("kubizone had no kind %s", kind.Kind), "export zones.kubi.zone and records.kubi.zone alone")
		return
	}

	o.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.GroupName, Version: kind.Version, Kind: kind.Kind})
	o.SetFinalizers(nil)

	// The server sets the label again.
	labels := o.GetLabels()
	delete(labels, parentLabel)
	o.SetLabels(labels)

	o.SetOwnerReferences(slices.DeleteFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		group, _, hasGroup := strings.Cut(owner.APIVersion, "/")
		return hasGroup && isOwnGroup(group)
	}))
	dropEmpty(o.Object)
	convertSpec(o)
	c.converted = append(c.converted, o)
}

func isOwnGroup(group string) bool { return group == v1alpha1.GroupName || group == devGroup }

// convertSpec changes the fields that have another form since v0: the RR class in capitals, and a minimumSerial, so
// that the serial goes on.
func convertSpec(o *unstructured.Unstructured) {
	spec, ok := o.Object["spec"].(map[string]any)
	if !ok {
		return
	}
	if class, ok := spec["class"].(string); ok {
		spec["class"] = strings.ToUpper(class)
	}
	if o.GetKind() != "Zone" || spec["minimumSerial"] != nil {
		return
	}
	// Secondaries must see a later serial.
	if last, _, _ := unstructured.NestedInt64(o.Object, "status", "serial"); last > 0 {
		spec["minimumSerial"] = last
	}
}

type entry struct {
	name, typ, data string
	ttl             uint32
}

// ServedBefore returns the entries that v0 served for a Zone, as a master file, or "".
func ServedBefore(o *unstructured.Unstructured) string {
	entries, _, _ := unstructured.NestedSlice(o.Object, "status", "entries")
	var text strings.Builder
	for _, item := range entries {
		fields, _ := item.(map[string]any)
		fmt.Fprintf(&text, "%s %v %v %v %v\n", absoluteHost(fmt.Sprint(fields["fqdn"])), fields["ttl"], fields["class"], fields["type"],
			fields["rdata"])
	}
	return text.String()
}

// Compare compares a zone's entries before and after the migration, without the SOA, and returns a line per difference,
// and the number of missing entries.
func Compare(before string, after io.Reader) (lines []string, missing int, err error) {
	entriesBefore, unreadable := readEntries(strings.NewReader(before))
	entries, errs := readEntries(after)
	if len(errs) > 0 {
		return nil, 0, errs[0]
	}
	// An entry that today's rules refuse counts as missing.
	for _, err := range unreadable {
		lines = append(lines, fmt.Sprintf("an entry that v0 served cannot be read: %v", err))
	}

	list := func(verb string, listed, others map[entry]bool) (count int) {
		for _, entry := range slices.SortedFunc(maps.Keys(listed), compareEntries) {
			if !others[entry] {
				count++
				lines = append(lines, fmt.Sprintf("%s: %s %d %s %s", verb, entry.name, entry.ttl, entry.typ, entry.data))
			}
		}
		return count
	}

	added := list("added", entries, entriesBefore)
	missing = list("missing", entriesBefore, entries) + len(unreadable)
	return append(lines, fmt.Sprintf("compared with its custom resource: %d entries as before, %d added, %d missing", len(entries)-added,
		added, missing)), missing, nil
}

func compareEntries(one, other entry) int {
	return strings.Compare(fmt.Sprint(one), fmt.Sprint(other))
}

// readEntries reads a master file without the SOA, whose serial always differs.
func readEntries(text io.Reader) (entries map[entry]bool, unreadable []error) {
	entries = make(map[entry]bool)
	for row, err := range zonefile.Read(text, zonefile.ReadOptions{}) {
		switch {
		case err != nil:
			unreadable = append(unreadable, err)
		case row.Type != rdata.SOA:
			entries[entry{row.Name.String(), row.Type.String(), row.Data, row.TTL}] = true
		}
	}
	return entries, unreadable
}
