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

// LabelNamespaceName is the label that kube-apiserver gives every namespace: its name.
const LabelNamespaceName = "kubernetes.io/metadata.name"

// MessageNoClass is the message of Ready with the reason NoClass.
const MessageNoClass = "the zone names no class and no default class is for its namespace and view, so nothing delivers it"

// IsDefault reports that the class is a default class: it delivers zones that name none.
func IsDefault(class *v1alpha1.DNSClass) bool {
	return class.Annotations[v1alpha1.AnnotationDefaultClass] == "true"
}

// Admits reports whether the class may deliver zones of a namespace with these labels. If spec.namespaces is absent, a
// default class delivers those of every namespace, any other class those of none.
func Admits(class *v1alpha1.DNSClass, namespace string, of map[string]string) bool {
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
	return err == nil && selector.Matches(labels.Set(of))
}

// EveryView in spec.views of a class stands for every view.
const EveryView = "*"

// Delivers reports whether the class delivers zones of a view (S1.9).
func Delivers(class *v1alpha1.DNSClass, view string) bool {
	views := class.Spec.Views
	if len(views) == 0 {
		return view == ""
	}
	return slices.Contains(views, view) || slices.Contains(views, EveryView)
}

// HasNameServers reports whether the provider of the class has name servers of its own for each zone, so the NS at the
// apex of a zone are not delivered (S6.15).
func HasNameServers(spec *v1alpha1.DNSClassSpec) bool {
	return spec.RFC2136 != nil || spec.Webhook != nil && spec.Webhook.ApexNS == v1alpha1.ApexNSSkip ||
		spec.Bind9 != nil && spec.Bind9.Mode == v1alpha1.Bind9ModeUpdate
}

const (
	// hashWidth is the number of hexadecimal digits of the hash in the name of a Delivery.
	hashWidth = 10
	maxName   = 253
)

// DeliveryName is the metadata.name of the Delivery of a Zone, by its name and uid, with a class: `<zone>-<hash>`, the
// zone's name shortened if it is long.
func DeliveryName(zone string, uid types.UID, ref v1alpha1.DNSClassReference) string {
	kind := cmp.Or(ref.Kind, v1alpha1.KindDNSClass)
	sum := sha256.Sum256([]byte(string(uid) + "\x00" + string(kind) + "\x00" + ref.Name))
	if most := maxName - hashWidth - 1; len(zone) > most {
		zone = strings.TrimRight(zone[:most], ".-")
	}
	return zone + "-" + hex.EncodeToString(sum[:])[:hashWidth]
}

// providerBlocks are the fields of DNSClassSpec that are provider blocks, each a pointer to a type whose name ends in
// Provider, with their names in JSON.
var providerBlocks = func() (blocks []reflect.StructField) {
	for field := range reflect.TypeFor[v1alpha1.DNSClassSpec]().Fields() {
		if field.Type.Kind() == reflect.Pointer && strings.HasSuffix(field.Type.Elem().Name(), "Provider") {
			field.Name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
			blocks = append(blocks, field)
		}
	}
	return blocks
}()

// Providers are the kinds of provider, each named as its block in the spec of a DNSClass.
func Providers() []string {
	kinds := make([]string, len(providerBlocks))
	for i, block := range providerBlocks {
		kinds[i] = block.Name
	}
	return kinds
}

// ProvidersOf are the kinds whose blocks the spec has. A valid one has exactly one.
func ProvidersOf(spec *v1alpha1.DNSClassSpec) (kinds []string) {
	value := reflect.ValueOf(spec).Elem()
	for _, block := range providerBlocks {
		if !value.FieldByIndex(block.Index).IsNil() {
			kinds = append(kinds, block.Name)
		}
	}
	return kinds
}

// ProviderOf is the kind of provider of a class; empty where the spec has no block that this version knows.
func ProviderOf(spec *v1alpha1.DNSClassSpec) string {
	for _, kind := range ProvidersOf(spec) {
		return kind
	}
	return ""
}

// NameOf is the name by which everything but the API keys the class that a Zone or a Delivery of a namespace refers to:
// that of a DNSClass, or NAMESPACE/NAME of a Bind9Cluster, which a DNSClass cannot have as its name (S11.30).
func NameOf(namespace string, ref v1alpha1.DNSClassReference) string {
	if ref.Kind == v1alpha1.KindBind9Cluster {
		return namespace + "/" + ref.Name
	}
	return ref.Name
}

// RefOf is the reference that NameOf has the name of.
func RefOf(name string) v1alpha1.DNSClassReference {
	if _, cluster, ok := SplitCluster(name); ok {
		return v1alpha1.DNSClassReference{Kind: v1alpha1.KindBind9Cluster, Name: cluster}
	}
	return v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: name}
}

// SplitCluster returns the Bind9Cluster that a class of this name is; false: it is a DNSClass.
func SplitCluster(name string) (namespace, cluster string, ok bool) {
	return strings.Cut(name, "/")
}

// catalogSuffix is of no zone of the public DNS (RFC 6761), and catalogs are transferred by key alone.
const catalogSuffix = "bind9clusters.kubizone.invalid."

// OfCluster is the class that a Bind9Cluster is for the zones of its own namespace that name it (S11.30). It has the
// cluster's metadata, and no default of a field of a Zone. Its generation is always 1, because no setting of the
// cluster changes the class: a change of the number of servers makes no provider anew.
func OfCluster(cluster *bind9.Bind9Cluster) *v1alpha1.DNSClass {
	return &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: cluster.Namespace + "/" + cluster.Name, UID: cluster.UID, Generation: 1, ResourceVersion: cluster.ResourceVersion,
			CreationTimestamp: cluster.CreationTimestamp, DeletionTimestamp: cluster.DeletionTimestamp,
			Finalizers: slices.Clone(cluster.Finalizers),
		},
		Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: []string{cluster.Namespace}},
			Views:      []string{EveryView},
			Bind9: &v1alpha1.Bind9Provider{
				ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: cluster.Namespace, Name: cluster.Name},
				// Both are labels, so no two clusters have one catalog.
				CatalogZone: cluster.Name + "." + cluster.Namespace + "." + catalogSuffix,
			},
		},
		Status: v1alpha1.DNSClassStatus{Target: cluster.Status.Target},
	}
}

// InUse reports whether a Bind9Cluster is, or was, the class of a zone. The finalizer is put there before a zone is
// delivered and stays as long as the cluster: its servers follow the catalog from then on, also an empty one.
func InUse(cluster *bind9.Bind9Cluster) bool {
	return slices.Contains(cluster.Finalizers, v1alpha1.FinalizerDelivery)
}
