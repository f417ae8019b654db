// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"fmt"
	"net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/verify"
)

// byDelivery says that a line is what the controller found, and nobody was asked now.
const byDelivery = "delivery"

// delivered adds to those that are asked the servers behind the zone's Deliveries: secondaries of a class by their rows,
// the server of an rfc2136 class by the class. Of providers that cannot be asked, a webhook among them, rows says what the
// controller has found.
func (r *run) delivered(ctx context.Context, zone *v1alpha1.Zone) (rows []verify.Report, err error) {
	list, err := r.client.KubizoneV1alpha1().Deliveries(zone.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, delivery := range list.Items {
		if delivery.Spec.Zone.UID != zone.UID {
			continue
		}
		servers := r.ofClass(ctx, &delivery)
		known := map[string]asked{}
		for _, one := range servers {
			known[one.address] = one
		}
		for _, server := range delivery.Status.Servers {
			at, err := address(server.Name)
			if host, _, wrong := net.SplitHostPort(at); err != nil || wrong != nil || net.ParseIP(host) == nil {
				rows = append(rows, row(&delivery, server))
				continue
			}
			one, ok := known[at]
			if !ok { // a tenant may read its Deliveries and no classes
				one = asked{address: at, class: delivery.Spec.ClassRef.Name, key: r.key}
			}
			r.ask(one)
		}
		if len(delivery.Status.Servers) > 0 {
			continue
		}
		for _, one := range servers { // nobody has been asked yet, or it is one service
			r.ask(one)
		}
		if len(servers) == 0 {
			rows = append(rows, whole(&delivery, zone))
		}
	}
	return rows, nil
}

// ofClass are the name servers that a class names; none, where it may not be read or has none.
func (r *run) ofClass(ctx context.Context, delivery *v1alpha1.Delivery) []asked {
	name := delivery.Spec.ClassRef.Name
	if delivery.Spec.ClassRef.Kind != v1alpha1.KindDNSClass {
		return nil
	}
	class, err := r.client.KubizoneV1alpha1().DNSClasses().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		fmt.Fprintf(r.remarks, "class %s: %v; its Delivery is believed\n", name, err)
		return nil
	}
	var servers []asked
	add := func(server string, ref *v1alpha1.SecretReference, guest bool) {
		if at, err := address(server); err == nil {
			servers = append(servers, asked{address: at, class: name, key: r.keyOf(ctx, name, ref), guest: guest})
		}
	}
	switch {
	case class.Spec.RFC2136 != nil:
		add(class.Spec.RFC2136.Server, &class.Spec.RFC2136.TSIGSecretRef, true)
	case class.Spec.Transfer != nil:
		for _, one := range class.Spec.Transfer.Secondaries {
			ref := one.TSIGSecretRef
			if ref == nil {
				ref = class.Spec.Transfer.TSIGSecretRef
			}
			add(one.Address, ref, false)
		}
	}
	return servers
}

// row is a server that has a name and no address.
func row(delivery *v1alpha1.Delivery, server v1alpha1.DeliveryServer) verify.Report {
	report := verify.Report{Server: delivery.Spec.ClassRef.Name + "/" + server.Name, State: verify.State(server.State), Serial: uint32(server.Serial), By: byDelivery}
	if report.State != verify.Current {
		report.Error = server.Message
	}
	return report
}

// whole is a Delivery to something that has no servers: its serial and hash are what the provider was compared with last.
func whole(delivery *v1alpha1.Delivery, zone *v1alpha1.Zone) verify.Report {
	status := &delivery.Status
	report := verify.Report{Server: delivery.Spec.ClassRef.Name, State: verify.Behind, Serial: uint32(status.Serial), By: byDelivery}
	switch {
	case status.Error != nil:
		report.State, report.Error = verify.Failed, status.Error.Message
	case status.FailedRecords > 0 || status.SkippedRecords > 0:
		report.State, report.Error = verify.Failed, fmt.Sprintf("%d RRsets were refused, and %d have no form there", status.FailedRecords, status.SkippedRecords)
	case status.Serial == 0:
		report.Error = "nothing is confirmed yet"
	case status.Serial != zone.Status.SettledSerial:
		report.Error = fmt.Sprintf("serial %d is not confirmed yet", zone.Status.SettledSerial)
	case zone.Status.SettledSerial == zone.Status.Serial && status.Hash != zone.Status.Hash:
		report.State, report.Error = verify.Failed, fmt.Sprintf("hash %s was confirmed, the zone has %s", status.Hash, zone.Status.Hash)
	default:
		report.State = verify.Current
	}
	return report
}
