// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dnsclass

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

const namespacesWidth = 60

var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "metadata.name of the DNSClass."},
	{Name: "Provider", Type: "string", Description: "The provider block of the class."},
	{Name: "Default", Type: "boolean", Description: "Whether the class delivers zones that name none."},
	{Name: "Ready", Type: "string", Description: "Whether the class can deliver zones."},
	{Name: "Age", Type: "string", Description: "Time since the creation of the DNSClass."},
	{Name: "Namespaces", Type: "string", Priority: 1, Description: "Whose zones the class may deliver: <all>, <none>, names, " +
		"or a selector of labels."},
	{Name: "Message", Type: "string", Priority: 1, Description: "Why the class is not ready."},
}

func row(of *v1alpha1.DNSClass) []any {
	return []any{
		of.Name, kind.OrNone(class.ProviderOf(&of.Spec)), class.IsDefault(of), kind.Ready(of.Status.Conditions),
		kind.Age(of.CreationTimestamp),
		kind.Shorten(describeNamespaces(of), namespacesWidth), kind.Message(of.Status.Conditions, v1alpha1.ConditionReady),
	}
}

// describeNamespaces returns the namespaces whose zones the class may deliver: names and selector, <all>, or <none>.
// Without spec.namespaces a default class is for all.
func describeNamespaces(of *v1alpha1.DNSClass) string {
	const all = "<all>"
	selection := of.Spec.Namespaces
	if selection == nil {
		if class.IsDefault(of) {
			return all
		}
		return kind.None
	}
	names := selection.Names
	if selection.Selector != nil {
		text := metav1.FormatLabelSelector(selection.Selector)
		if text == "<none>" { // matches everything
			return all
		}
		names = append(names[:len(names):len(names)], text)
	}
	return kind.OrNone(strings.Join(names, ","))
}
