// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/registry/kind"
)

// Kind of Deliveries.
var Kind = kind.Kind[*v1alpha1.Delivery]{
	GroupVersion: v1alpha1.SchemeGroupVersion, Resource: "deliveries", Singular: "delivery", Categories: []string{"kubizone"},
	New:     func() *v1alpha1.Delivery { return &v1alpha1.Delivery{} },
	NewList: func() runtime.Object { return &v1alpha1.DeliveryList{} },

	Conditional: true, // a PUT without resourceVersion would overwrite another worker's intent
	Validate:    validation.Delivery, ValidateUpdate: validation.DeliveryUpdate,
	Subresources: map[string]kind.Subresource[*v1alpha1.Delivery]{"status": kind.Status(validation.DeliveryStatusUpdate)},

	Fields: func(delivery *v1alpha1.Delivery) fields.Set {
		return fields.Set{
			v1alpha1.FieldDeliveryZoneName:     delivery.Spec.Zone.Name,
			v1alpha1.FieldDeliveryClassRefName: delivery.Spec.ClassRef.Name,
		}
	},
	Columns: columns, Row: row,
}

var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "metadata.name of the Delivery."},
	{Name: "Zone", Type: "string", Description: "The Zone that is delivered."},
	{Name: "Class", Type: "string", Description: "What delivers it."},
	{Name: "Serial", Type: "integer", Format: "int64", Description: "The last serial that everything in the class has confirmed, " +
		"0 while none has."},
	{Name: "Ready", Type: "string", Description: "Whether the zone's settled serial is confirmed."},
	{Name: "Age", Type: "string", Description: "Time since the creation of the Delivery."},
	{Name: "Servers", Type: "string", Priority: 1, Description: "How many servers of the class are current, of how many."},
	{Name: "Message", Type: "string", Priority: 1, Description: "Why the zone is not delivered."},
}

func row(delivery *v1alpha1.Delivery) []any {
	return []any{
		delivery.Name, delivery.Spec.Zone.Name, kind.Class(delivery.Spec.ClassRef), delivery.Status.Serial,
		kind.Ready(delivery.Status.Conditions), kind.Age(delivery.CreationTimestamp),
		servers(delivery.Status.Servers), kind.Message(delivery.Status.Conditions, v1alpha1.ConditionReady),
	}
}

func servers(all []v1alpha1.DeliveryServer) string {
	if len(all) == 0 {
		return kind.None
	}
	current := 0
	for i := range all {
		if all[i].State == v1alpha1.ServerCurrent {
			current++
		}
	}
	return fmt.Sprintf("%d/%d", current, len(all))
}
