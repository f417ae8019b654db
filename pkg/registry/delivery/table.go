// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/registry/status"
)

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

// ConvertToTable makes what `kubectl get` prints.
func (*REST) ConvertToTable(_ context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return status.Table(columns, obj, options, row)
}

func row(delivery *v1alpha1.Delivery) []any {
	class := delivery.Spec.ClassRef.Name
	if kind := delivery.Spec.ClassRef.Kind; kind != v1alpha1.KindDNSClass {
		class = string(kind) + "/" + class
	}
	return []any{
		delivery.Name, delivery.Spec.Zone.Name, class, delivery.Status.Serial, status.Ready(delivery.Status.Conditions),
		status.Age(delivery.CreationTimestamp),
		servers(delivery.Status.Servers), status.Message(delivery.Status.Conditions, v1alpha1.ConditionReady),
	}
}

func servers(all []v1alpha1.DeliveryServer) string {
	if len(all) == 0 {
		return status.None
	}
	current := 0
	for i := range all {
		if all[i].State == v1alpha1.ServerCurrent {
			current++
		}
	}
	return fmt.Sprintf("%d/%d", current, len(all))
}
