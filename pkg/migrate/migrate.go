// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	strictjson "sigs.k8s.io/json"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
)

// Finding is a custom resource that is not carried over, or a part of one.
type Finding struct {
	Of *unstructured.Unstructured
	// Refused: nothing is made of the object, or of the item of a list that Reason names. Otherwise the rest of it is
	// carried over.
	Refused bool
	// Reason is why, Fix the next step if the reason does not name it.
	Reason, Fix string
}

// Convert makes objects of this API of custom resources. Those of bindy need all of their group at once, since records
// select their zones.
func Convert(all []*unstructured.Unstructured) (converted []*unstructured.Unstructured, found []Finding) {
	c := &conversion{}
	groups := make(map[string][]*unstructured.Unstructured)
	for _, o := range all {
		if o.GetDeletionTimestamp() != nil {
			c.refuse(o, "it is being deleted", "let it go, or make it again")
			continue
		}
		// Optional fields may be stored as null, and lists as empty ones.
		dropEmpty(o.Object)
		switch group := o.GroupVersionKind().Group; group {
		case bindyGroup, gardenerGroup, externalDNSGroup, webhookGroup:
			groups[group] = append(groups[group], o)
		default:
			c.convertV0(o)
		}
	}
	for _, group := range groups {
		// The oldest first: bindy and Gardener let the older of two objects of one name have it.
		slices.SortFunc(group, func(one, other *unstructured.Unstructured) int {
			return cmp.Or(one.GetCreationTimestamp().Compare(other.GetCreationTimestamp().Time),
				strings.Compare(one.GetKind(), other.GetKind()), strings.Compare(id(one), id(other)))
		})
	}
	c.convertBindy(groups[bindyGroup])
	c.convertGardener(groups[gardenerGroup])
	c.convertExternalDNS(groups[externalDNSGroup])
	c.convertWebhook(groups[webhookGroup])
	return c.converted, c.found
}

// conversion takes what converters make and find.
type conversion struct {
	converted []*unstructured.Unstructured
	found     []Finding
}

// refuse reports an object that is not carried over.
func (c *conversion) refuse(o *unstructured.Unstructured, reason, fix string) {
	c.found = append(c.found, Finding{Of: o, Refused: true, Reason: reason, Fix: fix})
}

// omit reports a part without which the rest is carried over.
func (c *conversion) omit(o *unstructured.Unstructured, reason, fix string) {
	c.found = append(c.found, Finding{Of: o, Reason: reason, Fix: fix})
}

// fixFields is the next step for fields that cannot be read.
const fixFields = "change the custom resource, or import a file without what is named"

// addReplacement makes the object of this API that replaces a custom resource. It keeps labels and annotations that are
// not those of the replaced operator, and the time of creation, by which the older of two objects holds a name (S4.8).
// The owners go: the garbage collector of another cluster, which has none of them, would delete the object.
func (c *conversion) addReplacement(was *unstructured.Unstructured, kind, object string, spec any) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		c.refuse(was, err.Error(), "")
		return
	}
	group := was.GroupVersionKind().Group
	o := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	o.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
	o.SetNamespace(was.GetNamespace())
	o.SetName(object)
	if created := was.GetCreationTimestamp(); !created.IsZero() {
		o.SetCreationTimestamp(created)
	}
	foreign := func(key, _ string) bool {
		prefix, _, _ := strings.Cut(key, "/")
		return prefix == group || strings.HasSuffix(prefix, "."+group) || key == "kubectl.kubernetes.io/last-applied-configuration"
	}
	labels, annotations := was.GetLabels(), was.GetAnnotations()
	maps.DeleteFunc(labels, foreign)
	maps.DeleteFunc(annotations, foreign)
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	dropEmpty(o.Object)
	for _, owner := range was.GetOwnerReferences() {
		if of, _, _ := strings.Cut(owner.APIVersion, "/"); of != group {
			c.omit(was, fmt.Sprintf("metadata.ownerReferences: %s %s, which made it, neither changes nor deletes the %s", owner.Kind,
				owner.Name, kind), "write it as others are written, and delete it with its owner")
		}
	}
	c.converted = append(c.converted, o)
}

// dropEmpty removes fields that are null or empty, at any depth.
func dropEmpty(content map[string]any) {
	maps.DeleteFunc(content, func(_ string, value any) bool {
		switch value := value.(type) {
		case nil:
			return true
		case map[string]any:
			dropEmpty(value)
			return len(value) == 0
		case []any:
			for _, item := range value {
				if inner, ok := item.(map[string]any); ok {
					dropEmpty(inner)
				}
			}
			return len(value) == 0
		}
		return false
	})
}

// readSpec reads the spec of a custom resource. It refuses a field that the type of into does not have: the object
// would mean something else without it.
func readSpec(spec, into any) error {
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	unknown, err := strictjson.UnmarshalStrict(text, into)
	if err = errors.Join(append(unknown, err)...); err != nil {
		return fmt.Errorf("spec: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// readStatus reads the fields of a status that into has.
func readStatus(o *unstructured.Unstructured, into any) {
	if text, err := json.Marshal(o.Object["status"]); err == nil {
		_ = strictjson.UnmarshalCaseSensitivePreserveInts(text, into) // a status that says nothing is one without the fields
	}
}

// id is how findings name another object of the same kind.
func id(o *unstructured.Unstructured) string { return o.GetNamespace() + "/" + o.GetName() }

// texts is a field that is a list of texts, or one text.
type texts []string

// UnmarshalJSON reads both forms.
func (t *texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// quoteText writes a character string of a TXT or CAA record as a zone file has it (RFC 1035 §5.1).
func quoteText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch octet := text[i]; {
		case octet == '"' || octet == '\\':
			b.WriteByte('\\')
			b.WriteByte(octet)
		case octet < ' ' || octet > '~':
			fmt.Fprintf(&b, `\%03d`, octet)
		default:
			b.WriteByte(octet)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// absoluteHost is a host name of an operator that takes every host name as absolute, with or without its last dot.
func absoluteHost(text string) string {
	if text == "" || name.IsAbsolute(text) {
		return text
	}
	return text + "."
}

// setData puts values into a RecordSpec, in the field for their number.
func setData(spec *v1alpha1.RecordSpec, values []string) {
	if len(values) == 1 {
		spec.RData = values[0]
		return
	}
	spec.Values = values
}
