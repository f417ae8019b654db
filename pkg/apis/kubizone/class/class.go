// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

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

const (
	// hashWidth is the number of hexadecimal digits of the hash in the name of a Delivery.
	hashWidth = 10
	maxName   = 253
)

// DeliveryName is the metadata.name of the Delivery of a Zone, by its name and uid, with a class: `<zone>-<hash>`, the
// zone's name shortened if it is long.
func DeliveryName(zone string, uid types.UID, ref v1alpha1.DNSClassReference) string {
	kind := ref.Kind
	if kind == "" {
		kind = v1alpha1.KindDNSClass
	}
	sum := sha256.Sum256([]byte(string(uid) + "\x00" + string(kind) + "\x00" + ref.Name))
	if most := maxName - hashWidth - 1; len(zone) > most {
		zone = strings.TrimRight(zone[:most], ".-")
	}
	return zone + "-" + hex.EncodeToString(sum[:])[:hashWidth]
}
