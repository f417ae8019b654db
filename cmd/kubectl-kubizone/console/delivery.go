// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
)

type deliveryPart struct {
	Rows []deliveryRow
	Lack *lack
}

type deliveryRow struct {
	Name, Series, Behind string
	State                state
	Serial               int64
	At                   *metav1.Time
	Message              string
	Depth                int
}

// readDelivery reads the Deliveries of a zone, for the tab. If the user may not list them, Lack has the missing right.
func readDelivery(ctx context.Context, r *reading, zone *v1alpha1.Zone) *deliveryPart {
	part := &deliveryPart{}
	list, err := r.api.Deliveries(zone.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldDeliveryZoneName, zone.Name).String()})
	if err != nil {
		part.Lack = lackOf(err, "list", "deliveries", zone.Namespace)
		return part
	}
	for i := range list.Items {
		// A Delivery of an earlier Zone with the same name may still be there, until its servers have dropped that
		// zone.
		if d := &list.Items[i]; d.Spec.Zone.UID == zone.UID {
			part.addDelivery(d, zone)
		}
	}
	return part
}

// addDelivery appends a row for the class, and a row of depth 1 for each of its servers. Behind is "1" for a row that
// is not at the zone's serial, for the chart of serials.
func (p *deliveryPart) addDelivery(d *v1alpha1.Delivery, zone *v1alpha1.Zone) {
	name, s := class.NameOf(d.Namespace, d.Spec.ClassRef), &d.Status
	row := deliveryRow{Name: name, Series: name, State: state{"ok", "confirmed"}, Serial: s.Serial, At: s.LastSyncTime}
	switch {
	case s.Error != nil:
		row.State, row.Message, row.Behind = state{"fails", "failed"}, s.Error.Message, "1"
	case s.Serial != zone.Status.SettledSerial:
		// Classes get the settled serial. The serial of a zone on hold may be ahead of that, without a delay of the
		// class.
		row.State, row.Behind = state{"waits", "behind"}, "1"
		row.Message = fmt.Sprintf("serial %d is not confirmed yet", zone.Status.SettledSerial)
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionDrifted} {
		c := meta.FindStatusCondition(s.Conditions, kind)
		// Ready other than True is a fault, and so is Drifted=True. The message of an error or a late serial stays.
		if c != nil && row.Message == "" && (c.Status == metav1.ConditionTrue) == (kind == v1alpha1.ConditionDrifted) {
			row.State, row.Message = state{"waits", "not ready"}, c.Reason+": "+c.Message
		}
	}
	p.Rows = append(p.Rows, row)
	for i := range s.Servers {
		server := &s.Servers[i]
		row := deliveryRow{Name: server.Name, Series: name + " " + server.Name, Serial: server.Serial, At: server.LastProbeTime,
			Message: server.Message, Depth: 1, State: stateOfServer(server)}
		if server.State != v1alpha1.ServerCurrent {
			row.Behind = "1"
		}
		p.Rows = append(p.Rows, row)
	}
}

func stateOfServer(server *v1alpha1.DeliveryServer) state {
	switch {
	case server.State == v1alpha1.ServerFailed:
		return state{"fails", "failed"}
	case server.Content == v1alpha1.ContentDiffers:
		// Content comes before the serial: a server with the current serial may have other records.
		return state{"fails", "differs"}
	case server.State == v1alpha1.ServerAhead:
		return state{"fails", "ahead"}
	case server.State == v1alpha1.ServerCurrent:
		return state{"ok", "current"}
	}
	return state{"waits", "behind"}
}
