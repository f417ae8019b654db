// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

const (
	nameColumn  = "metadata.name of the object."
	readyColumn = "Whether every server of the object answers queries."
	ageColumn   = "Time since the creation of the object."
	whyColumn   = "Why the object is not ready."
)

// Tenants often may not list servers. If these had the category kubizone, kubectl get kubizone would fail.
var categories = []string{"bind9"}

// newProviders returns the kind of ClusterBind9Providers, without the parts of completeKind.
func newProviders(rules validation.FleetRules) *kind.Kind[*bind9.ClusterBind9Provider] {
	return &kind.Kind[*bind9.ClusterBind9Provider]{
		Resource: "clusterbind9providers", Singular: "clusterbind9provider", ShortNames: []string{"cb9p"}, ClusterScoped: true,
		New:     func() *bind9.ClusterBind9Provider { return &bind9.ClusterBind9Provider{} },
		NewList: func() runtime.Object { return &bind9.ClusterBind9ProviderList{} },
		ValidateUpdate: func(after, before *bind9.ClusterBind9Provider) field.ErrorList {
			return validation.ClusterBind9Provider(after, before, rules)
		},
		Warn: func(o *bind9.ClusterBind9Provider) []string {
			return validation.Bind9ClusterWarnings(&o.Spec.Bind9ClusterSpec)
		},
		Subresources: map[string]kind.Subresource[*bind9.ClusterBind9Provider]{
			"status": kind.Status(func(after, before *bind9.ClusterBind9Provider) field.ErrorList {
				return validation.FleetStatusUpdate(&after.ObjectMeta, &before.ObjectMeta, after.Status.Conditions, after.Status.Size(),
					before.Status.Size())
			}),
		},
		Columns: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: nameColumn},
			{Name: "Clusters", Type: "string", Description: "How many Bind9Clusters of the provider are ready, of how many."},
			{Name: "Servers", Type: "string", Description: "How many servers are ready, of how many."},
			{Name: "Ready", Type: "string", Description: readyColumn},
			{Name: "Age", Type: "string", Description: ageColumn},
			{Name: "Namespaces", Type: "string", Priority: 1, Description: "Where the provider makes a Bind9Cluster: names, " +
				"and a selector of labels."},
			{Name: "Message", Type: "string", Priority: 1, Description: whyColumn},
		},
		Row: rowOfProvider,
	}
}

// newClusters returns the kind of Bind9Clusters, without the parts of completeKind. Only this kind has the subresource
// finalizers, since a Zone may name a Bind9Cluster as its class.
func newClusters(rules validation.FleetRules) *kind.Kind[*bind9.Bind9Cluster] {
	return &kind.Kind[*bind9.Bind9Cluster]{
		Resource: "bind9clusters", Singular: "bind9cluster", ShortNames: []string{"b9c"}, Categories: categories,
		New:     func() *bind9.Bind9Cluster { return &bind9.Bind9Cluster{} },
		NewList: func() runtime.Object { return &bind9.Bind9ClusterList{} },
		ValidateUpdate: func(after, before *bind9.Bind9Cluster) field.ErrorList {
			return validation.Bind9Cluster(after, before, rules)
		},
		Warn: func(o *bind9.Bind9Cluster) []string { return validation.Bind9ClusterWarnings(&o.Spec) },
		Subresources: map[string]kind.Subresource[*bind9.Bind9Cluster]{
			"status": kind.Status(func(after, before *bind9.Bind9Cluster) field.ErrorList {
				return validation.FleetStatusUpdate(&after.ObjectMeta, &before.ObjectMeta, after.Status.Conditions, after.Status.Size(),
					before.Status.Size())
			}),
			"finalizers": kind.Finalizers[*bind9.Bind9Cluster](),
		},
		Columns: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: nameColumn},
			{Name: "Version", Type: "string", Description: "The release series of BIND."},
			{Name: "Primaries", Type: "string", Description: "How many primaries are ready, of how many."},
			{Name: "Secondaries", Type: "string", Description: "How many secondaries are ready, of how many."},
			{Name: "Ready", Type: "string", Description: readyColumn},
			{Name: "Age", Type: "string", Description: ageColumn},
			{Name: "Message", Type: "string", Priority: 1, Description: whyColumn},
		},
		Row: rowOfCluster,
	}
}

// newInstances returns the kind of Bind9Instances, without the parts of completeKind. Controllers select instances by
// role and cluster.
func newInstances(rules validation.FleetRules) *kind.Kind[*bind9.Bind9Instance] {
	return &kind.Kind[*bind9.Bind9Instance]{
		Resource: "bind9instances", Singular: "bind9instance", ShortNames: []string{"b9i", "b9"}, Categories: categories,
		New:     func() *bind9.Bind9Instance { return &bind9.Bind9Instance{} },
		NewList: func() runtime.Object { return &bind9.Bind9InstanceList{} },
		ValidateUpdate: func(after, before *bind9.Bind9Instance) field.ErrorList {
			return validation.Bind9Instance(after, before, rules)
		},
		Warn: func(o *bind9.Bind9Instance) []string { return validation.Bind9InstanceWarnings(&o.Spec) },
		Subresources: map[string]kind.Subresource[*bind9.Bind9Instance]{
			"status": kind.Status(func(after, before *bind9.Bind9Instance) field.ErrorList {
				return validation.FleetStatusUpdate(&after.ObjectMeta, &before.ObjectMeta, after.Status.Conditions, after.Status.Size(),
					before.Status.Size())
			}),
		},
		Fields: map[string]func(*bind9.Bind9Instance) string{
			bind9.FieldInstanceRole:           func(o *bind9.Bind9Instance) string { return string(o.Spec.Role) },
			bind9.FieldInstanceClusterRefName: clusterName,
		},
		Columns: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: nameColumn},
			{Name: "Cluster", Type: "string", Description: "The Bind9Cluster that the server belongs to."},
			{Name: "Role", Type: "string", Description: "Primary or Secondary."},
			{Name: "Ready", Type: "string", Description: readyColumn},
			{Name: "Age", Type: "string", Description: ageColumn},
			{Name: "Addresses", Type: "string", Priority: 1, Description: "Where the server answers queries."},
			{Name: "Message", Type: "string", Priority: 1, Description: whyColumn},
		},
		Row: rowOfInstance,
	}
}

func clusterName(instance *bind9.Bind9Instance) string {
	if instance.Spec.ClusterRef == nil {
		return ""
	}
	return instance.Spec.ClusterRef.Name
}

const listWidth = 60

func describeRatio(of, all int32) string {
	return strconv.Itoa(int(of)) + "/" + strconv.Itoa(int(all))
}

// rowOfProvider returns the cells of the columns. Namespaces has names and the selector, or the default namespace.
func rowOfProvider(provider *bind9.ClusterBind9Provider) []any {
	ready := int32(0)
	for i := range provider.Status.Clusters {
		if provider.Status.Clusters[i].Ready {
			ready++
		}
	}
	where := provider.Spec.Namespaces
	switch selector := provider.Spec.NamespaceSelector; {
	case selector != nil:
		where = append(where[:len(where):len(where)], metav1.FormatLabelSelector(selector))
	case len(where) == 0:
		where = []string{bind9.DefaultProviderNamespace}
	}
	servers := provider.Status.Servers
	return []any{
		provider.Name, describeRatio(ready, int32(len(provider.Status.Clusters))), describeRatio(servers.Ready, servers.Desired),
		kind.Ready(provider.Status.Conditions), kind.Age(provider.CreationTimestamp),
		kind.Shorten(strings.Join(where, ","), listWidth), messageOf(provider.Status.Conditions),
	}
}

// rowOfCluster returns the cells of the columns. A role that the spec leaves out has 0 servers desired.
func rowOfCluster(of *bind9.Bind9Cluster) []any {
	desired := func(role *bind9.RoleSettings) int32 {
		if role == nil {
			return 0
		}
		return role.Replicas
	}
	return []any{
		of.Name, kind.OrNone(of.Spec.Version), describeRatio(of.Status.Primaries.Ready, desired(of.Spec.Primary)),
		describeRatio(of.Status.Secondaries.Ready, desired(of.Spec.Secondary)),
		kind.Ready(of.Status.Conditions), kind.Age(of.CreationTimestamp), messageOf(of.Status.Conditions),
	}
}

func rowOfInstance(of *bind9.Bind9Instance) []any {
	addresses := of.Status.Addresses
	if of.Spec.External != nil {
		addresses = []string{of.Spec.External.Address}
	}
	return []any{
		of.Name, kind.OrNone(clusterName(of)), string(of.Spec.Role), kind.Ready(of.Status.Conditions), kind.Age(of.CreationTimestamp),
		kind.OrNone(kind.Shorten(strings.Join(addresses, ","), listWidth)), messageOf(of.Status.Conditions),
	}
}

func messageOf(conditions []metav1.Condition) string {
	return kind.Message(conditions, bind9.ConditionConfigValid, bind9.ConditionReady)
}
