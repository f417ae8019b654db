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

// Finding is a custom resource that was not converted, or only in part.
type Finding struct {
	Of *unstructured.Unstructured
	// Refused is true if nothing was converted of the object, or of the list item named in Reason. Otherwise only the
	// part in Reason is left out.
	Refused bool
	// Fix is the next step for the user, "" if Reason has it.
	Reason, Fix string
}

// Convert converts custom resources of other projects to objects of this API. Pass all objects of bindy at once, since
// its records and zones refer to each other. Each Finding has the reason why an object or field was not converted.
func Convert(objects []*unstructured.Unstructured) (converted []*unstructured.Unstructured, findings []Finding) {
	c := &conversion{}
	groups := make(map[string][]*unstructured.Unstructured)

	for _, o := range objects {
		if o.GetDeletionTimestamp() != nil {
			c.refuse(o, "it is being deleted", "let it go, or make it again")
			continue
		}
		// Optional fields may be null, and lists empty.
		dropEmpty(o.Object)
		// Kubizone v0's own group is the default, and each unknown group a finding there.
		switch group := o.GroupVersionKind().Group; group {
		case bindyGroup, gardenerGroup, externalDNSGroup, webhookGroup:
			groups[group] = append(groups[group], o)
		default:
			c.convertV0(o)
		}
	}

	// Older objects come first, because in bindy and Gardener the older of two objects with a DNS name wins.
	for _, group := range groups {
		slices.SortFunc(group, func(one, other *unstructured.Unstructured) int {
			return cmp.Or(one.GetCreationTimestamp().Compare(other.GetCreationTimestamp().Time),
				strings.Compare(one.GetKind(), other.GetKind()), strings.Compare(id(one), id(other)))
		})
	}

	// Objects refer only to objects of the same operator.
	c.convertBindy(groups[bindyGroup])
	c.convertGardener(groups[gardenerGroup])
	c.convertExternalDNS(groups[externalDNSGroup])
	c.convertWebhook(groups[webhookGroup])
	return c.converted, c.found
}

type conversion struct {
	converted []*unstructured.Unstructured
	found     []Finding
}

func (c *conversion) refuse(o *unstructured.Unstructured, reason, fix string) {
	c.found = append(c.found, Finding{Of: o, Refused: true, Reason: reason, Fix: fix})
}

// refusal is an error with a fix. Any other error is about a field.
type refusal struct{ reason, fix string }

func (r *refusal) Error() string { return r.reason }

func refuse(reason, fix string) error { return &refusal{reason, fix} }

func (c *conversion) noteRefusal(o *unstructured.Unstructured, err error) {
	var own *refusal
	switch {
	case errors.As(err, &own):
		c.refuse(o, own.reason, own.fix)
	case err != nil:
		c.refuse(o, err.Error(), fixFields)
	}
}

func (c *conversion) omit(o *unstructured.Unstructured, reason, fix string) {
	c.found = append(c.found, Finding{Of: o, Reason: reason, Fix: fix})
}

const fixFields = "change the custom resource, or import a file without what is named"

// addReplacement adds a converted object. Users' labels and annotations stay, and the time of creation, because the
// older of two objects keeps a name. Owner references go, because the garbage collector would delete an object whose
// owner is absent in its cluster.
func (c *conversion) addReplacement(original *unstructured.Unstructured, kind, name string, spec any) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		c.refuse(original, err.Error(), "")
		return
	}

	group := original.GroupVersionKind().Group
	replacement := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	replacement.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
	replacement.SetNamespace(original.GetNamespace())
	replacement.SetName(name)
	if created := original.GetCreationTimestamp(); !created.IsZero() {
		replacement.SetCreationTimestamp(created)
	}

	// The former operator's labels and annotations go.
	foreign := func(key, _ string) bool {
		prefix, _, _ := strings.Cut(key, "/")
		return prefix == group || strings.HasSuffix(prefix, "."+group) || key == "kubectl.kubernetes.io/last-applied-configuration"
	}

	labels, annotations := original.GetLabels(), original.GetAnnotations()
	maps.DeleteFunc(labels, foreign)
	maps.DeleteFunc(annotations, foreign)
	replacement.SetLabels(labels)
	replacement.SetAnnotations(annotations)
	dropEmpty(replacement.Object)

	// A controller of another group made the object, and would not maintain the replacement.
	for _, owner := range original.GetOwnerReferences() {
		if ownerGroup, _, _ := strings.Cut(owner.APIVersion, "/"); ownerGroup != group {
			c.omit(original, fmt.Sprintf("metadata.ownerReferences: %s %s, which made it, neither changes nor deletes the %s", owner.Kind,
				owner.Name, kind), "write it as others are written, and delete it with its owner")
		}
	}
	c.converted = append(c.converted, replacement)
}

// dropEmpty removes nulls, empty maps and empty lists, in nested maps and in the items of lists. Items stay, even empty
// ones.
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

func readStatus(o *unstructured.Unstructured, into any) {
	if text, err := json.Marshal(o.Object["status"]); err == nil {
		_ = strictjson.UnmarshalCaseSensitivePreserveInts(text, into) // invalid: as if absent
	}
}

func id(o *unstructured.Unstructured) string { return o.GetNamespace() + "/" + o.GetName() }

type texts []string

func (t *texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

func absoluteHost(text string) string {
	if text == "" || name.IsAbsolute(text) {
		return text
	}
	return text + "."
}

func setData(spec *v1alpha1.RecordSpec, values []string) {
	if len(values) == 1 {
		spec.RData = values[0]
		return
	}
	spec.Values = values
}
