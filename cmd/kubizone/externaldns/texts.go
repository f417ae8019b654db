// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
)

// annotationPrefixes has the prefix of external-dns v0.22, and the prefix of earlier versions.
var annotationPrefixes = []string{"external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"}

const (
	annotationHost, annotationInternalHost = "hostname", "internal-hostname"
	annotationTarget, annotationController = "target", "controller"
)

// annotationsOf returns the values of an external-dns annotation.
func annotationsOf(object *unstructured.Unstructured, annotation string) (values []string) {
	for _, prefix := range annotationPrefixes {
		if value := object.GetAnnotations()[prefix+annotation]; value != "" {
			values = append(values, value)
		}
	}
	return values
}

// The fields, beside annotations, with the names and targets of the objects in sources (external-dns v0.22). A path
// goes through each element of a list: spec.rules.host is the host of each rule.
var (
	hostFields = [][]string{{"spec", "rules", "host"}, {"spec", "tls", "hosts"}, {"spec", "hostnames"}, {"spec", "host"},
		{"status", "ingress", "host"}, {"spec", "endpoints", "dnsName"}}
	targetFields = [][]string{{"spec", "externalIPs"}, {"spec", "externalName"}, {"status", "loadBalancer", "ingress", "ip"},
		{"status", "loadBalancer", "ingress", "hostname"}, {"status", "ingress", "routerCanonicalHostname"},
		{"spec", "endpoints", "targets"}}
	// internalFields have the targets of a Pod, a Service of type ClusterIP, and a name in the internal-hostname
	// annotation. external-dns publishes them only with flags, so a search does not use them.
	internalFields = [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"status", "podIP"}, {"status", "podIPs", "ip"},
		{"status", "hostIP"}, {"status", "hostIPs", "ip"}}
)

// readTexts reads the object of a candidate, which external-dns names or which has a Record. Its name may be anywhere
// in the object, for example in an annotation of another prefix; otherwise the object would lose its Record.
func (t *reporter) readTexts(ctx context.Context, c *externaldns.Candidate) (externaldns.Texts, error) {
	object, err := t.readObject(ctx, c.Resource)
	if err != nil {
		return externaldns.Texts{}, err
	}
	object = selectEndpoints(object, c.Resource.Kind, c.Endpoint)
	all := appendTexts(nil, object.Object)
	texts := externaldns.Texts{Hosts: all, Targets: targetsOf(object), All: all}
	if isInternal(object, c.Resource.Kind, c.Endpoint) {
		// Only for an object that external-dns names: a search would publish addresses of the inner network.
		texts.Targets = append(texts.Targets, textsAt(object, internalFields)...)
	}
	if strings.EqualFold(c.Endpoint.RecordType, "PTR") {
		texts.Targets = all // the names are its targets, and its addresses the name
	}
	return texts, nil
}

// isInternal reports whether external-dns may publish the object's addresses in the cluster for the endpoint's name.
func isInternal(object *unstructured.Unstructured, kind string, e *contract.Endpoint) bool {
	serviceType, _, _ := unstructured.NestedString(object.Object, "spec", "type")
	return kind == "pod" || kind == "service" && serviceType == "ClusterIP" ||
		slices.ContainsFunc(annotationsOf(object, annotationInternalHost), func(text string) bool {
			return slices.ContainsFunc(externaldns.Words(text), func(word string) bool {
				return externaldns.HostOf(word) == externaldns.HostOf(e.DNSName)
			})
		})
}

// selectEndpoints returns a DNSEndpoint's endpoints with the name and type of e, and an object of another kind whole.
func selectEndpoints(object *unstructured.Unstructured, kind string, e *contract.Endpoint) *unstructured.Unstructured {
	if kind != "crd" {
		return object
	}
	endpoints, _, _ := unstructured.NestedSlice(object.Object, "spec", "endpoints") // empty in an unknown form
	endpoints = slices.DeleteFunc(endpoints, func(one any) bool {
		fields, _ := one.(map[string]any)
		fqdn, _ := fields["dnsName"].(string)
		recordType, _ := fields["recordType"].(string)
		return !strings.EqualFold(recordType, e.RecordType) || externaldns.HostOf(fqdn) != externaldns.HostOf(e.DNSName)
	})
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"endpoints": endpoints}}}
}

func hostsOf(object *unstructured.Unstructured) []string {
	return slices.Concat(annotationsOf(object, annotationHost), annotationsOf(object, annotationInternalHost), textsAt(object, hostFields))
}

func targetsOf(object *unstructured.Unstructured) []string {
	return append(annotationsOf(object, annotationTarget), textsAt(object, targetFields)...)
}

func textsAt(object *unstructured.Unstructured, fields [][]string) (texts []string) {
	for _, path := range fields {
		texts = appendField(texts, object.Object, path)
	}
	return texts
}

func appendField(to []string, value any, path []string) []string {
	if list, isList := value.([]any); isList {
		for _, one := range list {
			to = appendField(to, one, path)
		}
		return to
	}
	if len(path) == 0 {
		return appendTexts(to, value)
	}
	fields, _ := value.(map[string]any)
	return appendField(to, fields[path[0]], path[1:])
}

func appendTexts(to []string, value any) []string {
	switch value := value.(type) {
	case string:
		return append(to, value)
	case []any:
		for _, one := range value {
			to = appendTexts(to, one)
		}
	case map[string]any:
		for _, one := range value {
			to = appendTexts(to, one)
		}
	}
	return to
}
