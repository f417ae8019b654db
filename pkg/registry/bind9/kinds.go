// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bind9

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/registry/status"
)

// kind is what one kind of the group has for itself.
type kind struct {
	resource, singular string
	short              []string
	namespaced         bool
	new, newList       func() runtime.Object
	// partsOf returns pointers to the parts of an object.
	partsOf func(runtime.Object) parts
	// validate judges a new object, or with before the change to it.
	validate func(after, before runtime.Object, rules validation.FleetRules) field.ErrorList
	warn     func(runtime.Object) []string
	columns  []metav1.TableColumnDefinition
	row      func(runtime.Object) []any
}

// parts are those of one object.
type parts struct {
	spec, status sized
	conditions   []metav1.Condition
}

type sized interface{ Size() int }

// replace sets the value that to points to, which is of the same type, to that of from.
func replace(to, from sized) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem()) }

// reset sets the value to none.
func reset(of sized) { reflect.ValueOf(of).Elem().SetZero() }

const (
	nameColumn  = "metadata.name of the object."
	readyColumn = "Whether every server of the object answers queries."
	ageColumn   = "Time since the creation of the object."
	whyColumn   = "Why the object is not ready."
)

var kinds = []kind{
	{
		resource: "clusterbind9providers", singular: "clusterbind9provider", short: []string{"cb9p"},
		new:     func() runtime.Object { return &bind9.ClusterBind9Provider{} },
		newList: func() runtime.Object { return &bind9.ClusterBind9ProviderList{} },
		partsOf: func(obj runtime.Object) parts {
			o := obj.(*bind9.ClusterBind9Provider)
			return parts{&o.Spec, &o.Status, o.Status.Conditions}
		},
		validate: func(after, before runtime.Object, rules validation.FleetRules) field.ErrorList {
			old, _ := before.(*bind9.ClusterBind9Provider)
			return validation.ClusterBind9Provider(after.(*bind9.ClusterBind9Provider), old, rules)
		},
		warn: func(obj runtime.Object) []string {
			return validation.Bind9ClusterWarnings(&obj.(*bind9.ClusterBind9Provider).Spec.Bind9ClusterSpec)
		},
		columns: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: nameColumn},
			{Name: "Clusters", Type: "string", Description: "How many Bind9Clusters of the provider are ready, of how many."},
			{Name: "Servers", Type: "string", Description: "How many servers are ready, of how many."},
			{Name: "Ready", Type: "string", Description: readyColumn},
			{Name: "Age", Type: "string", Description: ageColumn},
			{Name: "Namespaces", Type: "string", Priority: 1, Description: "Where the provider makes a Bind9Cluster: names, " +
				"and a selector of labels."},
			{Name: "Message", Type: "string", Priority: 1, Description: whyColumn},
		},
		row: rowOfProvider,
	},
	{
		resource: "bind9clusters", singular: "bind9cluster", short: []string{"b9c"}, namespaced: true,
		new:     func() runtime.Object { return &bind9.Bind9Cluster{} },
		newList: func() runtime.Object { return &bind9.Bind9ClusterList{} },
		partsOf: func(obj runtime.Object) parts {
			o := obj.(*bind9.Bind9Cluster)
			return parts{&o.Spec, &o.Status, o.Status.Conditions}
		},
		validate: func(after, before runtime.Object, rules validation.FleetRules) field.ErrorList {
			old, _ := before.(*bind9.Bind9Cluster)
			return validation.Bind9Cluster(after.(*bind9.Bind9Cluster), old, rules)
		},
		warn: func(obj runtime.Object) []string {
			return validation.Bind9ClusterWarnings(&obj.(*bind9.Bind9Cluster).Spec)
		},
		columns: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: nameColumn},
			{Name: "Version", Type: "string", Description: "The release series of BIND."},
			{Name: "Primaries", Type: "string", Description: "How many primaries are ready, of how many."},
			{Name: "Secondaries", Type: "string", Description: "How many secondaries are ready, of how many."},
			{Name: "Ready", Type: "string", Description: readyColumn},
			{Name: "Age", Type: "string", Description: ageColumn},
			{Name: "Message", Type: "string", Priority: 1, Description: whyColumn},
		},
		row: rowOfCluster,
	},
	{
		resource: "bind9instances", singular: "bind9instance", short: []string{"b9i", "b9"}, namespaced: true,
		new:     func() runtime.Object { return &bind9.Bind9Instance{} },
		newList: func() runtime.Object { return &bind9.Bind9InstanceList{} },
		partsOf: func(obj runtime.Object) parts {
			o := obj.(*bind9.Bind9Instance)
			return parts{&o.Spec, &o.Status, o.Status.Conditions}
		},
		validate: func(after, before runtime.Object, rules validation.FleetRules) field.ErrorList {
			old, _ := before.(*bind9.Bind9Instance)
			return validation.Bind9Instance(after.(*bind9.Bind9Instance), old, rules)
		},
		warn: func(obj runtime.Object) []string {
			return validation.Bind9InstanceWarnings(&obj.(*bind9.Bind9Instance).Spec)
		},
		columns: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: nameColumn},
			{Name: "Cluster", Type: "string", Description: "The Bind9Cluster that the server belongs to."},
			{Name: "Role", Type: "string", Description: "Primary or Secondary."},
			{Name: "Ready", Type: "string", Description: readyColumn},
			{Name: "Age", Type: "string", Description: ageColumn},
			{Name: "Addresses", Type: "string", Priority: 1, Description: "Where the server answers queries."},
			{Name: "Message", Type: "string", Priority: 1, Description: whyColumn},
		},
		row: rowOfInstance,
	},
}

// ConvertToTable makes what `kubectl get` prints.
func (k *kind) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return status.Table(k.columns, obj, options, k.row)
}

// listWidth is the most characters of a list in a row.
const listWidth = 60

func describeRatio(of, all int32) string {
	return strconv.Itoa(int(of)) + "/" + strconv.Itoa(int(all))
}

func rowOfProvider(obj runtime.Object) []any {
	of := obj.(*bind9.ClusterBind9Provider)
	ready := int32(0)
	for i := range of.Status.Clusters {
		if of.Status.Clusters[i].Ready {
			ready++
		}
	}
	where := of.Spec.Namespaces
	switch selector := of.Spec.NamespaceSelector; {
	case selector != nil:
		where = append(where[:len(where):len(where)], metav1.FormatLabelSelector(selector))
	case len(where) == 0:
		where = []string{bind9.DefaultProviderNamespace}
	}
	servers := of.Status.Servers
	return []any{
		of.Name, describeRatio(ready, int32(len(of.Status.Clusters))), describeRatio(servers.Ready, servers.Desired),
		status.Ready(of.Status.Conditions), status.Age(of.CreationTimestamp),
		status.Cut(strings.Join(where, ","), listWidth), messageOf(of.Status.Conditions),
	}
}

func rowOfCluster(obj runtime.Object) []any {
	of := obj.(*bind9.Bind9Cluster)
	desired := func(role *bind9.RoleSettings) int32 {
		if role == nil {
			return 0
		}
		return role.Replicas
	}
	return []any{
		of.Name, status.OrNone(of.Spec.Version), describeRatio(of.Status.Primaries.Ready, desired(of.Spec.Primary)),
		describeRatio(of.Status.Secondaries.Ready, desired(of.Spec.Secondary)),
		status.Ready(of.Status.Conditions), status.Age(of.CreationTimestamp), messageOf(of.Status.Conditions),
	}
}

func rowOfInstance(obj runtime.Object) []any {
	of := obj.(*bind9.Bind9Instance)
	addresses := of.Status.Addresses
	if of.Spec.External != nil {
		addresses = []string{of.Spec.External.Address}
	}
	return []any{
		of.Name, status.OrNone(clusterName(of)), string(of.Spec.Role), status.Ready(of.Status.Conditions), status.Age(of.CreationTimestamp),
		status.OrNone(status.Cut(strings.Join(addresses, ","), listWidth)), messageOf(of.Status.Conditions),
	}
}

func messageOf(conditions []metav1.Condition) string {
	return status.Message(conditions, bind9.ConditionConfigValid, bind9.ConditionReady)
}
