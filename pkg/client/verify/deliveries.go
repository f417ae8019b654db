// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/dns/transfer"
)

const byDelivery = "delivery"

// addDelivered adds the servers of the Deliveries. For servers that cannot be queried here, it returns the results of
// the controller, none of them as Current.
func (c *Comparison) addDelivered(ctx context.Context, zone *v1alpha1.Zone) (rows []Report, err error) {
	all, err := c.ListDeliveries(ctx, zone)
	for _, object := range all {
		rows = append(rows, c.addDelivery(ctx, zone, object.DeepCopy())...)
	}
	return rows, err
}

// ListDeliveries omits Deliveries of a former Zone of the same name.
func (c *Comparison) ListDeliveries(ctx context.Context, zone *v1alpha1.Zone) ([]v1alpha1.Delivery, error) {
	list, err := c.Client.KubizoneV1alpha1().Deliveries(zone.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(one v1alpha1.Delivery) bool { return one.Spec.Zone.UID != zone.UID }), nil
}

// addDelivery adds the servers of a Delivery to the servers to ask. The rows are of servers out of reach from here.
func (c *Comparison) addDelivery(ctx context.Context, zone *v1alpha1.Zone, object *v1alpha1.Delivery) (rows []Report) {
	of := c.readClass(ctx, object)
	why := "this user may not read the class"
	if of != nil {
		why = "the class names no server"
		named := apiclass.NameServersOf(&of.Spec)
		switch {
		case of.Spec.Bind9 != nil && len(object.Status.Servers) > 0:
			return c.addInstances(ctx, of, object)
		case len(named) == 0 && c.Providers.Has(of):
			c.providers = append(c.providers, askedProvider{of, object})
			return nil
		}
		for _, server := range named {
			if at, err := ParseAddress(server.Address); err == nil {
				c.addServer(askedServer{address: at, class: of.Name, key: c.KeyOf(ctx, of.Name, server.Key), guest: server.Guest,
					signed: server.Signed})
			}
		}
		if len(named) > 0 {
			return nil
		}
	}
	for _, server := range object.Status.Servers { // a tenant may read Deliveries, but no classes
		at, _ := ParseAddress(server.Name)
		// A name such as dns-system/ns1 is a row of a fleet, and no address.
		if _, err := netip.ParseAddrPort(at); err != nil {
			rows = append(rows, reportRow(object, server))
			continue
		}
		c.addServer(askedServer{address: at, class: object.Spec.ClassRef.Name, key: c.Key})
	}
	if len(object.Status.Servers) == 0 {
		rows = append(rows, reportDelivery(object, zone, why))
	}
	return rows
}

// addInstances adds the BIND servers of a class by their Bind9Instances. A server without a readable instance or
// address is a row with the Delivery's state.
func (c *Comparison) addInstances(ctx context.Context, of *v1alpha1.DNSClass, object *v1alpha1.Delivery) (rows []Report) {
	for _, row := range object.Status.Servers {
		namespace, name, _ := strings.Cut(row.Name, "/")
		instance, err := c.Client.Bind9V1alpha1().Bind9Instances(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			rows = append(rows, reportRow(object, row))
			continue
		}
		server, _ := apiclass.ServerOf(instance)
		at, err := ParseAddress(server.Address)
		if err != nil || server.Address == "" {
			rows = append(rows, reportRow(object, row))
			continue
		}
		c.addServer(askedServer{address: at, class: of.Name, key: c.KeyOf(ctx, of.Name, server.Key)})
	}
	return rows
}

// readClass returns the DNSClass of a Delivery, or nil with a remark if the user may not read the class. A Bind9Cluster
// has none.
func (c *Comparison) readClass(ctx context.Context, delivery *v1alpha1.Delivery) *v1alpha1.DNSClass {
	name := delivery.Spec.ClassRef.Name
	if delivery.Spec.ClassRef.Kind != v1alpha1.KindDNSClass {
		return nil
	}
	of, err := c.Client.KubizoneV1alpha1().DNSClasses().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		c.Remark(fmt.Sprintf("class %s: %v", name, err))
		return nil
	}
	return of
}

// reportRow returns the state of a server in the Delivery. "Current" becomes Unknown, because this command has not
// asked the server.
func reportRow(delivery *v1alpha1.Delivery, server v1alpha1.DeliveryServer) Report {
	report := Report{Server: delivery.Spec.ClassRef.Name + "/" + server.Name, State: State(server.State),
		Serial: uint32(server.Serial), By: byDelivery, Error: server.Message}
	if report.State == Current {
		report.State, report.Error = Unknown, fmt.Sprintf("not asked: its address is not known here; "+
			"by its Delivery it had serial %d", server.Serial)
	}
	return report
}

// reportDelivery returns the state of a class without servers in the Delivery. why is the reason why nothing is asked.
func reportDelivery(delivery *v1alpha1.Delivery, zone *v1alpha1.Zone, why string) Report {
	status := &delivery.Status
	report := Report{Server: delivery.Spec.ClassRef.Name, State: Behind, Serial: uint32(status.Serial), By: byDelivery}
	switch {
	case status.Serial == 0 && status.Error == nil:
		report.Error = "nothing is confirmed yet"
	case status.Serial != zone.Status.SettledSerial && status.Error == nil:
		report.Error = fmt.Sprintf("serial %d is not confirmed yet", zone.Status.SettledSerial)
	default:
		report.State, report.Error = Unknown, "not asked: "+why
		if message := formatFailure(status); message != "" {
			report.Error += "; by its Delivery " + message
		} else if status.LastSyncTime != nil {
			report.Error += fmt.Sprintf("; by its Delivery serial %d was confirmed at %s", status.Serial,
				status.LastSyncTime.UTC().Format(time.RFC3339))
		}
	}
	return report
}

func formatFailure(status *v1alpha1.DeliveryStatus) string {
	switch {
	case status.FailedRecords > 0:
		return fmt.Sprintf("the provider refused %d RRsets, and has no form for %d of them", status.FailedRecords, status.SkippedRecords)
	case status.Error != nil:
		return status.Error.Reason + ": " + status.Error.Message
	}
	return ""
}

type askedProvider struct {
	class    *v1alpha1.DNSClass
	delivery *v1alpha1.Delivery
}

// compareByProvider falls back to the Delivery if the provider cannot compare.
func (c *Comparison) compareByProvider(ctx context.Context, a askedProvider, zone *v1alpha1.Zone, truth *Zone) Report {
	report := Report{Server: a.class.Name, State: Current, Serial: uint32(a.delivery.Status.Serial), By: ByRequests}
	if err := c.Providers.Compare(ctx, a.class, truth, &report); err != nil {
		return reportDelivery(a.delivery, zone, err.Error())
	}
	return report
}

// addServer adds a server to ask. Two classes with the same address and key are a single server, and with another key
// perhaps different views of the server.
func (c *Comparison) addServer(one askedServer) {
	for i, other := range c.servers {
		if other.address != one.address {
			continue
		}
		// A server of --name-server has no class, and takes over the key and form of the class.
		if sameKey(other.key, one.key) || other.class == "" {
			c.servers[i].guest, c.servers[i].signed = other.guest || one.guest, other.signed || one.signed
			if other.class == "" && one.key != nil {
				c.servers[i].key, c.servers[i].class = one.key, one.class
			}
			return
		}
		one.label = fmt.Sprintf("%s (class %s)", one.address, one.class)
	}
	c.servers = append(c.servers, one)
}

func sameKey(a, b *transfer.Key) bool {
	return a == b || a != nil && b != nil && a.Name == b.Name && string(a.MAC([]byte(a.Name))) == string(b.MAC([]byte(a.Name)))
}

type askedServer struct {
	// address is HOST:PORT; label distinguishes lines with the same address.
	address, label string
	class          string
	key            *transfer.Key
	// guest is true if SOA and apex NS are the server's own, signed if serial and signatures are.
	guest, signed bool
}
