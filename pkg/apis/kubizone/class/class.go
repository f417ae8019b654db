// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const LabelNamespaceName = "kubernetes.io/metadata.name"

const MessageNoClass = "the zone names no class and no default class applies; only secondaries that transfer the zone by themselves have it"

// IsDefault reports whether the class delivers zones that name no class.
func IsDefault(class *v1alpha1.DNSClass) bool {
	return class.Annotations[v1alpha1.AnnotationDefaultClass] == "true"
}

// Admits reports whether the class may deliver zones of a namespace with these labels. Without spec.namespaces, a
// default class admits every namespace, and another class none.
func Admits(class *v1alpha1.DNSClass, namespace string, namespaceLabels map[string]string) bool {
	selection := class.Spec.Namespaces
	if selection == nil {
		return IsDefault(class)
	}
	if slices.Contains(selection.Names, namespace) {
		return true
	}
	if selection.Selector == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(selection.Selector)
	return err == nil && selector.Matches(labels.Set(namespaceLabels))
}

const EveryView = "*"

func Delivers(class *v1alpha1.DNSClass, view string) bool {
	views := class.Spec.Views
	if len(views) == 0 {
		return view == ""
	}
	return slices.Contains(views, view) || slices.Contains(views, EveryView)
}

// HasNameServers reports whether the provider has its own name servers. Then NS at the apex are not delivered.
func HasNameServers(spec *v1alpha1.DNSClassSpec) bool {
	return spec.RFC2136 != nil || spec.Webhook != nil && spec.Webhook.ApexNS == v1alpha1.ApexNSSkip ||
		spec.Bind9 != nil && spec.Bind9.Mode == v1alpha1.Bind9ModeUpdate
}

// NeedsPrimary reports whether the class's servers transfer zones from Kubizone's primary.
func NeedsPrimary(spec *v1alpha1.DNSClassSpec) bool {
	return spec.Transfer != nil || spec.Bind9 != nil && spec.Bind9.Mode != v1alpha1.Bind9ModeUpdate
}

const (
	hashWidth = 10
	maxName   = 253
)

// DeliveryName returns ZONE-HASH, with the zone's name shortened if necessary.
func DeliveryName(zone string, uid types.UID, ref v1alpha1.DNSClassReference) string {
	kind := cmp.Or(ref.Kind, v1alpha1.KindDNSClass)
	sum := sha256.Sum256([]byte(string(uid) + "\x00" + string(kind) + "\x00" + ref.Name))
	if most := maxName - hashWidth - 1; len(zone) > most {
		zone = strings.TrimRight(zone[:most], ".-")
	}
	return zone + "-" + hex.EncodeToString(sum[:])[:hashWidth]
}

var providerBlocks = func() (blocks []reflect.StructField) {
	for field := range reflect.TypeFor[v1alpha1.DNSClassSpec]().Fields() {
		if field.Type.Kind() == reflect.Pointer && strings.HasSuffix(field.Type.Elem().Name(), "Provider") {
			field.Name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
			blocks = append(blocks, field)
		}
	}
	return blocks
}()

func Providers() []string {
	kinds := make([]string, len(providerBlocks))
	for i, block := range providerBlocks {
		kinds[i] = block.Name
	}
	return kinds
}

// ProvidersOf returns the kinds of the spec's provider blocks. A valid spec has exactly one.
func ProvidersOf(spec *v1alpha1.DNSClassSpec) (kinds []string) {
	value := reflect.ValueOf(spec).Elem()
	for _, block := range providerBlocks {
		if !value.FieldByIndex(block.Index).IsNil() {
			kinds = append(kinds, block.Name)
		}
	}
	return kinds
}

func ProviderOf(spec *v1alpha1.DNSClassSpec) string {
	for _, kind := range ProvidersOf(spec) {
		return kind
	}
	return ""
}

// NameOf returns a name unique among all classes: NAME of a DNSClass, NAMESPACE/NAME of a Bind9Cluster.
func NameOf(namespace string, ref v1alpha1.DNSClassReference) string {
	if ref.Kind == v1alpha1.KindBind9Cluster {
		return namespace + "/" + ref.Name
	}
	return ref.Name
}

// RefOf is the inverse of NameOf.
func RefOf(name string) v1alpha1.DNSClassReference {
	if _, cluster, ok := SplitCluster(name); ok {
		return v1alpha1.DNSClassReference{Kind: v1alpha1.KindBind9Cluster, Name: cluster}
	}
	return v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: name}
}

// SplitCluster splits a NameOf a Bind9Cluster. It returns false for a DNSClass.
func SplitCluster(name string) (namespace, cluster string, ok bool) {
	return strings.Cut(name, "/")
}

// catalogSuffix ends the catalog zones of clusters. It is outside the public DNS (RFC 6761).
const catalogSuffix = "bind9clusters.kubizone.invalid."

// OfCluster returns a DNSClass for a Bind9Cluster, so that zones of the cluster's namespace can name the cluster in
// place of a class.
func OfCluster(cluster *bind9.Bind9Cluster) *v1alpha1.DNSClass {
	return &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{
			// Generation stays 1, because another generation would replace the class's provider.
			Name: cluster.Namespace + "/" + cluster.Name, UID: cluster.UID, Generation: 1, ResourceVersion: cluster.ResourceVersion,
			CreationTimestamp: cluster.CreationTimestamp, DeletionTimestamp: cluster.DeletionTimestamp,
			Finalizers: slices.Clone(cluster.Finalizers),
		},
		Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{cluster.Namespace}},
			Views:      []string{EveryView},
			Bind9: &v1alpha1.Bind9Provider{
				ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: cluster.Namespace, Name: cluster.Name},
				// The names have no dots, so no two clusters share a catalog.
				CatalogZone: cluster.Name + "." + cluster.Namespace + "." + catalogSuffix,
			},
		},
		Status: v1alpha1.DNSClassStatus{Target: cluster.Status.Target},
	}
}

// InUse reports whether a Bind9Cluster is, or was, a zone's class. The finalizer stays until the cluster is deleted,
// because the servers follow even an empty catalog.
func InUse(cluster *bind9.Bind9Cluster) bool {
	return slices.Contains(cluster.Finalizers, v1alpha1.FinalizerDelivery)
}
