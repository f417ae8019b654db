// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Config configures the kind of Deliveries. All fields are required.
type Config struct {
	Authorizer authorizer.UnconditionalAuthorizer
	// Zones returns the storage of Zones. It is called only at requests, because the storage is built later.
	Zones func() rest.Getter
	// Stale returns why the stored condition Ready of Deliveries is out of date, or "". With a reason, kubectl's table
	// shows Unknown for Ready, and the reason as message.
	Stale func() string
}

func NewKind(config Config) *kind.Kind[*v1alpha1.Delivery] {
	of := Kind
	of.Row = func(delivery *v1alpha1.Delivery) []any { return makeRow(delivery, config.Stale()) }
	of.Subresources = maps.Clone(of.Subresources)
	status := of.Subresources["status"]
	status.Check = config.checkStatus
	of.Subresources["status"] = status
	return &of
}

// listSubresources returns status, for the controller of the class, and notify, for primaries, which confirm nothing.
func listSubresources() map[string]kind.Subresource[*v1alpha1.Delivery] {
	status := kind.Status(validation.DeliveryStatusUpdate)
	status.ResetFields = kind.ResetFieldsOfStatus([]string{"notify"}, nil)
	// The controller and the primaries write at once. Neither must overwrite the other's fields.
	status.Copy = func(after, written *v1alpha1.Delivery) {
		notify := after.Status.Notify
		after.Status = written.Status
		setNotify(after, notify)
	}
	return map[string]kind.Subresource[*v1alpha1.Delivery]{"status": status, "notify": {
		Copy:     func(after, written *v1alpha1.Delivery) { setNotify(after, written.Status.Notify) },
		Validate: validation.DeliveryNotifyUpdate,
		ResetFields: kind.ResetFieldsOfStatus([]string{"serial", "hash", "lastSyncTime", "lastDriftCheckTime", "intent", "servers", "error",
			"failedRecords", "skippedRecords", "conditions", "fqdn", "target", "holder", "drift", "lastVerifyRequest", "refused",
			"failedWhole", "refusedDigests"}, nil),
	}}
}

// setNotify drops the rows of a delivery that every server has confirmed, because NOTIFY no longer delays it, and the
// primary that wrote them may be gone.
func setNotify(of *v1alpha1.Delivery, notify []v1alpha1.DeliveryNotify) {
	if meta.IsStatusConditionTrue(of.Status.Conditions, v1alpha1.ConditionReady) {
		notify = nil
	}
	of.Status.Notify = notify
}

// checkStatus refuses an update of a Delivery's status without the right "confirm" on its class, or with a serial that
// name servers cannot have. A confirmed serial makes Records Ready, so only the class's controller may confirm.
func (c Config) checkStatus(ctx context.Context, after, before *v1alpha1.Delivery) error {
	ref := after.Spec.ClassRef
	class := v1alpha1.Resource("dnsclasses")
	if ref.Kind == v1alpha1.KindBind9Cluster {
		class = bind9.Resource("bind9clusters")
	}

	// Ask for the right in the whole cluster, without a namespace. Then no Role of a tenant can give it.
	allowed, err := kind.IsAllowed(ctx, c.Authorizer, authorizer.AttributesRecord{Verb: "confirm", APIGroup: class.Group, APIVersion: "*",
		Resource: class.Resource, Name: ref.Name})
	if err != nil {
		return err
	}
	if !allowed {
		return refusal.ByRule("S6.18", apierrors.NewForbidden(v1alpha1.Resource("deliveries"), after.Name, fmt.Errorf(
			"the right to confirm %s %q in the whole cluster is needed, as Records become Ready by this status (S6.18); "+
				"a ClusterRoleBinding to a role with that right gives it", class.Resource, ref.Name)))
	}

	if after.Status.Serial == before.Status.Serial || after.Status.Serial == 0 {
		return nil // nothing new is confirmed
	}

	// Read the Zone from etcd (a Get without a resourceVersion), since the servers may be ahead of the watch cache.
	obj, err := c.Zones().Get(genericapirequest.WithNamespace(ctx, after.Namespace), after.Spec.Zone.Name, &metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	zone, _ := obj.(*v1alpha1.Zone)
	path := field.NewPath("status", "serial")
	switch {
	case err != nil || zone.UID != after.Spec.Zone.UID:
		return refuseSerial(after, field.Invalid(path, after.Status.Serial, "the Zone of this Delivery, by name and uid, is gone: only "+
			"0 may be confirmed"))
	case !isUpTo(serial.Serial(after.Status.Serial), serial.Serial(zone.Status.SettledSerial)):
		return refuseSerial(after, field.Invalid(path, after.Status.Serial, fmt.Sprintf("is not up to the settledSerial %d of the Zone: "+
			"confirm a serial that servers may have", zone.Status.SettledSerial)))
	}
	return nil
}

// isUpTo reports whether a serial is settled or comes before. A serial 2^31 away does neither (RFC 1982 §3.2).
func isUpTo(confirmed, settled serial.Serial) bool {
	return confirmed == settled || settled.Ahead(confirmed)
}

func refuseSerial(of *v1alpha1.Delivery, err *field.Error) error {
	return refusal.NewInvalid(v1alpha1.Kind("Delivery"), of.Name, field.ErrorList{refusal.Cite("S6.18", err)})
}

// Kind is the kind of Deliveries, without the checks of NewKind.
var Kind = kind.Kind[*v1alpha1.Delivery]{
	GroupVersion: v1alpha1.SchemeGroupVersion, Resource: "deliveries", Singular: "delivery", Categories: []string{"kubizone"},
	New:     func() *v1alpha1.Delivery { return &v1alpha1.Delivery{} },
	NewList: func() runtime.Object { return &v1alpha1.DeliveryList{} },

	RequiresVersion: true, // a PUT would overwrite another worker's serial
	Validate:        validation.Delivery, ValidateUpdate: validation.DeliveryUpdate,
	Subresources: listSubresources(),

	Fields: map[string]func(*v1alpha1.Delivery) string{
		v1alpha1.FieldDeliveryZoneName:     func(delivery *v1alpha1.Delivery) string { return delivery.Spec.Zone.Name },
		v1alpha1.FieldDeliveryClassRefName: func(delivery *v1alpha1.Delivery) string { return delivery.Spec.ClassRef.Name },
	},
	Columns: columns, Row: func(delivery *v1alpha1.Delivery) []any { return makeRow(delivery, "") },
}

var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "metadata.name of the Delivery."},
	{Name: "Zone", Type: "string", Description: "The Zone that is delivered."},
	{Name: "Class", Type: "string", Description: "What delivers it."},
	{Name: "Serial", Type: "integer", Format: "int64", Description: "The last serial that everything in the class has confirmed, " +
		"0 while none has."},
	{Name: "Ready", Type: "string", Description: "Whether the zone's settled serial is confirmed; Unknown " +
		"without a controller."},
	{Name: "Age", Type: "string", Description: "Time since the creation of the Delivery."},
	{Name: "Servers", Type: "string", Priority: 1, Description: "How many servers of the class are current, of how many."},
	{Name: "Message", Type: "string", Priority: 1, Description: "Why the zone is not delivered."},
}

// makeRow returns the cells of columns. stale is the reason why the stored Ready is out of date, or "".
func makeRow(delivery *v1alpha1.Delivery, stale string) []any {
	ready, message := kind.Ready(delivery.Status.Conditions), kind.Message(delivery.Status.Conditions, v1alpha1.ConditionReady)
	var notify []string
	for _, row := range delivery.Status.Notify {
		notify = append(notify, row.Message+"; "+row.Remedy)
	}
	switch {
	case stale != "":
		ready, message = string(metav1.ConditionUnknown), stale
	// A refused NOTIFY explains the delay better than Ready, which only waits.
	case len(notify) > 0:
		message = class.ReasonOfNotify(&delivery.Status.Notify[0]) + ": " + strings.Join(notify, " | ")
	}
	return []any{
		delivery.Name, delivery.Spec.Zone.Name, kind.Class(delivery.Spec.ClassRef), delivery.Status.Serial, ready,
		kind.Age(delivery.CreationTimestamp), servers(delivery.Status.Servers), message,
	}
}

// servers returns "2/3" for two current servers of three, or <none> without servers.
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
