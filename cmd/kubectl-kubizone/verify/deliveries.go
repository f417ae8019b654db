// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/provider"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

const byDelivery = "delivery"

// addDelivered adds the servers of the Deliveries. For servers that cannot be queried here, it returns the results of
// the controller, none of them as Current.
func (r *run) addDelivered(ctx context.Context, zone *v1alpha1.Zone) (rows []verify.Report, err error) {
	all, err := r.listDeliveries(ctx, zone)
	for _, object := range all {
		rows = append(rows, r.addDelivery(ctx, zone, object.DeepCopy())...)
	}
	return rows, err
}

// listDeliveries omits Deliveries of a former Zone of the same name.
func (r *run) listDeliveries(ctx context.Context, zone *v1alpha1.Zone) ([]v1alpha1.Delivery, error) {
	list, err := r.client.KubizoneV1alpha1().Deliveries(zone.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(one v1alpha1.Delivery) bool { return one.Spec.Zone.UID != zone.UID }), nil
}

// addDelivery adds the servers of a Delivery to the servers to ask. The rows are of servers out of reach from here.
func (r *run) addDelivery(ctx context.Context, zone *v1alpha1.Zone, object *v1alpha1.Delivery) (rows []verify.Report) {
	of := r.readClass(ctx, object)
	why := "this user may not read the class"
	if of != nil {
		why = "the class names no server"
		named, newProvider := apiclass.NameServersOf(&of.Spec), provider.Providers[apiclass.ProviderOf(&of.Spec)]
		switch {
		case of.Spec.Bind9 != nil && len(object.Status.Servers) > 0:
			return r.addInstances(ctx, of, object)
		case len(named) == 0 && newProvider != nil:
			r.providers = append(r.providers, askedProvider{of, newProvider, object})
			return nil
		}
		for _, server := range named {
			if at, err := parseAddress(server.Address); err == nil {
				r.addServer(askedServer{address: at, class: of.Name, key: r.keyOf(ctx, of.Name, server.Key), guest: server.Guest,
					signed: server.Signed})
			}
		}
		if len(named) > 0 {
			return nil
		}
	}
	for _, server := range object.Status.Servers { // a tenant may read Deliveries, but no classes
		at, err := parseAddress(server.Name)
		// A name such as dns-system/ns1 is a row of a fleet, and no address.
		if host, _, wrong := net.SplitHostPort(at); err != nil || wrong != nil || net.ParseIP(host) == nil {
			rows = append(rows, reportRow(object, server))
			continue
		}
		r.addServer(askedServer{address: at, class: object.Spec.ClassRef.Name, key: r.key})
	}
	if len(object.Status.Servers) == 0 {
		rows = append(rows, reportDelivery(object, zone, why))
	}
	return rows
}

// addInstances adds the BIND servers of a class by their Bind9Instances. A server without a readable instance or
// address is a row with the Delivery's state.
func (r *run) addInstances(ctx context.Context, of *v1alpha1.DNSClass, object *v1alpha1.Delivery) (rows []verify.Report) {
	for _, row := range object.Status.Servers {
		namespace, name, _ := strings.Cut(row.Name, "/")
		instance, err := r.client.Bind9V1alpha1().Bind9Instances(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			rows = append(rows, reportRow(object, row))
			continue
		}
		server, _ := apiclass.ServerOf(instance)
		at, err := parseAddress(server.Address)
		if err != nil || server.Address == "" {
			rows = append(rows, reportRow(object, row))
			continue
		}
		r.addServer(askedServer{address: at, class: of.Name, key: r.keyOf(ctx, of.Name, server.Key)})
	}
	return rows
}

// readClass returns the DNSClass of a Delivery, or nil with a remark if the user may not read the class. A Bind9Cluster
// has none.
func (r *run) readClass(ctx context.Context, delivery *v1alpha1.Delivery) *v1alpha1.DNSClass {
	name := delivery.Spec.ClassRef.Name
	if delivery.Spec.ClassRef.Kind != v1alpha1.KindDNSClass {
		return nil
	}
	of, err := r.client.KubizoneV1alpha1().DNSClasses().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		terminal.Fprintf(r.remarks, "class %s: %v\n", name, err)
		return nil
	}
	return of
}

// reportRow returns the state of a server in the Delivery. "Current" becomes Unknown, because this command has not
// asked the server.
func reportRow(delivery *v1alpha1.Delivery, server v1alpha1.DeliveryServer) verify.Report {
	report := verify.Report{Server: delivery.Spec.ClassRef.Name + "/" + server.Name, State: verify.State(server.State),
		Serial: uint32(server.Serial), By: byDelivery, Error: server.Message}
	if report.State == verify.Current {
		report.State, report.Error = verify.Unknown, fmt.Sprintf("not asked: its address is not known here; "+
			"by its Delivery it had serial %d", server.Serial)
	}
	return report
}

// reportDelivery returns the state of a class without servers in the Delivery. why is the reason why nothing is asked.
func reportDelivery(delivery *v1alpha1.Delivery, zone *v1alpha1.Zone, why string) verify.Report {
	status := &delivery.Status
	report := verify.Report{Server: delivery.Spec.ClassRef.Name, State: verify.Behind, Serial: uint32(status.Serial), By: byDelivery}
	switch {
	case status.Serial == 0 && status.Error == nil:
		report.Error = "nothing is confirmed yet"
	case status.Serial != zone.Status.SettledSerial && status.Error == nil:
		report.Error = fmt.Sprintf("serial %d is not confirmed yet", zone.Status.SettledSerial)
	default:
		report.State, report.Error = verify.Unknown, "not asked: "+why
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
	class       *v1alpha1.DNSClass
	newProvider provider.New
	delivery    *v1alpha1.Delivery
}

// compareByProvider has the provider of a class compare the zone, as the controller does. The report falls back to the
// Delivery if the provider cannot list the content or a Secret is missing.
func (r *run) compareByProvider(ctx context.Context, a askedProvider, zone *v1alpha1.Zone, truth *verify.Zone) verify.Report {
	provider, _, err := a.newProvider(a.class, func(namespace, name string) (map[string][]byte, error) {
		return r.secrets.Get(ctx, namespace, name)
	})
	if err != nil {
		why := err.Error()
		if errors.Is(err, secrets.ErrNotFound) {
			why = "a Secret of the class is not there; --secrets-dir may have it"
		}
		return reportDelivery(a.delivery, zone, why)
	}
	defer provider.Close()
	drift, err := provider.Verify(ctx, delivery.Plan{Zone: truth.FQDN, Serial: truth.Serial, Whole: true,
		All: delivery.GroupRRsets(slices.Values(truth.Entries()))})
	if errors.Is(err, delivery.ErrCannotList) {
		return reportDelivery(a.delivery, zone, err.Error())
	}
	report := verify.Report{Server: a.class.Name, State: verify.Current, Serial: uint32(a.delivery.Status.Serial), By: verify.ByRequests}
	var failure *delivery.Error
	switch {
	case errors.As(err, &failure) && failure.Detail != "":
		report.State, report.Error = verify.Failed, failure.Error()+"; it says: "+failure.Detail
		return report
	case err != nil:
		report.State, report.Error = verify.Failed, err.Error()
		return report
	case report.Serial != uint32(truth.Serial):
		report.State = verify.Behind
	}
	// RRsets for which the provider has no form are missing there, too.
	for _, set := range append(drift.Missing, drift.Unfit...) {
		report.Missing = append(report.Missing, toReport(set))
	}
	for _, set := range drift.Differing {
		report.Differing = append(report.Differing, verify.Difference{Zone: toReport(set)})
	}
	if len(drift.Unfit) > 0 {
		report.Error = fmt.Sprintf("the provider has no form for %d of those that are missing, or refuses them", len(drift.Unfit))
	}
	report.Judge()
	return report
}

func toReport(set delivery.RRset) verify.RRset {
	return verify.RRset{Name: set.Name.String(), Type: set.Type.String(), TTL: set.TTL, Data: set.Data}
}

// keyOf returns the TSIG key of a class for a server, nil for none. For an unreadable Secret, the result is the key of
// --tsig-key-file, with a remark.
func (r *run) keyOf(ctx context.Context, name string, ref *v1alpha1.SecretReference) *transfer.Key {
	if ref == nil {
		return nil
	}
	if known, ok := r.keys[*ref]; ok {
		return known
	}
	key, err := secrets.ReadTSIGKey(*ref, func(namespace, name string) (map[string][]byte, error) {
		return r.secrets.Get(ctx, namespace, name)
	})
	if err != nil {
		next := "asked without it; --secrets-dir or --tsig-key-file may have it"
		if r.key != nil {
			next = "the key of --tsig-key-file signs"
		}
		// Without the path of the file or the API's message, which say no more.
		if errors.Is(err, secrets.ErrNotFound) {
			err = secrets.ErrNotFound
		}
		terminal.Fprintf(r.remarks, "the key of class %s, Secret %s/%s: %v; %s\n", name, ref.Namespace, ref.Name, err, next)
		r.keys[*ref] = r.key
		return r.key
	}
	r.keys[*ref] = &transfer.Key{Name: key.Name, Algorithm: string(key.Algorithm), MAC: key.MAC}
	return r.keys[*ref]
}

// addServer adds a server to ask. Two classes with the same address and key are a single server, and with another key
// perhaps different views of the server.
func (r *run) addServer(one askedServer) {
	for i, other := range r.servers {
		if other.address != one.address {
			continue
		}
		// A server of --name-server has no class, and takes over the key and form of the class.
		if sameKey(other.key, one.key) || other.class == "" {
			r.servers[i].guest, r.servers[i].signed = other.guest || one.guest, other.signed || one.signed
			if other.class == "" && one.key != nil {
				r.servers[i].key, r.servers[i].class = one.key, one.class
			}
			return
		}
		one.label = fmt.Sprintf("%s (class %s)", one.address, one.class)
	}
	r.servers = append(r.servers, one)
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
