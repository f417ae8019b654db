// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/dns/name"
)

// Limits of a status, because every delivered change writes the status.
const (
	maxDeliveryServers = 1000
	maxIntentRRsets    = 1000
	maxRRsetText       = 1100 // an escaped name, a blank and a type
	hashDigits         = 64
	maxCode            = 64
	maxRefused         = 256
	maxDigests         = 8192
	maxRefusal         = 256
	maxDeliveryNotify  = 16
)

// Delivery validates a new Delivery. The name must be class.DeliveryName.
func Delivery(delivery *v1alpha1.Delivery) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&delivery.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	spec := &delivery.Spec
	zone, ref := specPath.Child("zone"), specPath.Child("classRef")
	if spec.Zone.Name == "" {
		errs = append(errs, field.Required(zone.Child("name"), "the metadata.name of a Zone in this namespace"))
	}
	if spec.Zone.UID == "" {
		errs = append(errs, field.Required(zone.Child("uid"), "the metadata.uid of the Zone"))
	}
	if spec.Zone.FQDN == "" {
		errs = append(errs, field.Required(zone.Child("fqdn"), "the status.fqdn of the Zone"))
	} else if fqdn, err := name.Parse(spec.Zone.FQDN); err != nil {
		errs = append(errs, field.Invalid(zone.Child("fqdn"), cut(spec.Zone.FQDN), err.Error()))
	} else if fqdn.String() != spec.Zone.FQDN {
		errs = append(errs, field.Invalid(zone.Child("fqdn"), cut(spec.Zone.FQDN),
			fmt.Sprintf("is not in canonical form: write %q, the status.fqdn of the Zone", fqdn)))
	}
	errs = append(errs, validateClassRef(spec.ClassRef, ref)...)
	// The name makes a second Delivery of the same zone and class impossible.
	if want := class.DeliveryName(spec.Zone.Name, spec.Zone.UID, spec.ClassRef); len(errs) == 0 && delivery.Name != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), delivery.Name,
			fmt.Sprintf("must be %q, the name for this zone, its uid and this class", want)))
	}
	return errs
}

func DeliveryUpdate(after, before *v1alpha1.Delivery) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	if after.Spec != before.Spec {
		errs = append(errs, field.Invalid(specPath, field.OmitValueType{}, "is immutable: a Delivery is of one zone and one class; "+
			"another zone, or another class, has a Delivery of its own"))
	}
	return errs
}

// DeliveryStatusUpdate bounds each text and list of a status, because every delivered change writes the status. The
// storage of Deliveries checks the serial against the Zone.
func DeliveryStatusUpdate(after, before *v1alpha1.Delivery) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	path, status := field.NewPath("status"), &after.Status
	errs = append(errs, validateConfirmedSerial(status.Serial, path.Child("serial"))...)
	if h := status.Hash; h != "" && (len(h) != hashDigits || strings.Trim(h, "0123456789abcdef") != "") {
		errs = append(errs, field.Invalid(path.Child("hash"), cut(h), "must be the status.hash of the Zone at that serial: "+
			"64 hexadecimal digits"))
	}
	if status.FQDN != "" {
		_, err := name.Parse(status.FQDN)
		errs = append(errs, rejectError(status.FQDN, err, path.Child("fqdn"))...)
	}
	errs = append(errs, validateMessage(status.Target, path.Child("target"))...)
	if status.Intent != nil {
		errs = append(errs, validateIntent(status.Intent, path.Child("intent"))...)
	}
	// RRsets that the provider refused, by name, and beyond these by digest.
	errs = append(errs, validateEach(status.Refused, maxRefused, path.Child("refused"),
		func(one v1alpha1.DeliveryRefusal, at *field.Path) field.ErrorList {
			errs := validateLength(one.RRset, maxRRsetText, at.Child("rrset"))
			errs = append(errs, validateMessage(one.Reason, at.Child("reason"))...)
			errs = append(errs, validateLength(one.Code, maxCode, at.Child("code"))...)
			return append(errs, validateLength(one.Message, maxRefusal, at.Child("message"))...)
		})...)
	// A digest has eight octets.
	if n := len(status.RefusedDigests); n%8 != 0 || n > 8*maxDigests {
		errs = append(errs, field.Invalid(path.Child("refusedDigests"), field.OmitValueType{},
			fmt.Sprintf("has %d octets: eight for each of at most %d RRsets", n, maxDigests)))
	}
	errs = append(errs, validateMessage(status.Holder, path.Child("holder"))...)
	errs = append(errs, validateRRsetNames(status.Drift, path.Child("drift"))...)
	errs = append(errs, validateLength(status.LastVerifyRequest, MaxVerifyRequest, path.Child("lastVerifyRequest"))...)
	errs = append(errs, validateDeliveryServers(status.Servers, path.Child("servers"))...)
	// The last error of the zone.
	if status.Error != nil {
		at := path.Child("error")
		errs = append(errs, validateLength(status.Error.Code, maxCode, at.Child("code"))...)
		errs = append(errs, validateMessage(status.Error.Reason, at.Child("reason"))...)
		if status.Error.Message == "" {
			errs = append(errs, field.Required(at.Child("message"), "what happened and the next step"))
		}
		errs = append(errs, validateMessage(status.Error.Message, at.Child("message"))...)
	}
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(status.FailedRecords), path.Child("failedRecords"))...)
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(status.SkippedRecords), path.Child("skippedRecords"))...)
	return append(errs, validateConditions(status.Conditions, path.Child("conditions"))...)
}

// DeliveryNotifyUpdate validates a write of the subresource notify.
func DeliveryNotifyUpdate(after, before *v1alpha1.Delivery) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	seen := map[string]bool{}
	return append(errs, validateEach(after.Status.Notify, maxDeliveryNotify, field.NewPath("status", "notify"),
		func(row v1alpha1.DeliveryNotify, at *field.Path) (errs field.ErrorList) {
			if seen[row.Server] {
				errs = append(errs, field.Duplicate(at.Child("server"), cut(row.Server)))
			}
			seen[row.Server] = true
			// A row without a remedy would leave the reader of kubectl get deliveries without the next step.
			for _, one := range [][2]string{{"server", row.Server}, {"answer", row.Answer}, {"message", row.Message},
				{"remedy", row.Remedy}} {
				if one[1] == "" {
					errs = append(errs, field.Required(at.Child(one[0]), "server, answer to NOTIFY, fault and next step"))
				}
			}
			errs = append(errs, validateMessage(row.Server, at.Child("server"))...)
			errs = append(errs, validateLength(row.From, maxCode, at.Child("from"))...)
			errs = append(errs, validateLength(row.Answer, maxCode, at.Child("answer"))...)
			errs = append(errs, validateMessage(row.Catalog, at.Child("catalog"))...)
			errs = append(errs, validateMessage(row.Remedy, at.Child("remedy"))...)
			return append(errs, validateMessage(row.Message, at.Child("message"))...)
		})...)
}

// validateIntent validates the intent of a worker, with the serial under way.
func validateIntent(intent *v1alpha1.DeliveryIntent, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if intent.Serial < 1 || intent.Serial > maxSerial {
		errs = append(errs, field.Invalid(path.Child("serial"), intent.Serial, "must be the serial that is being delivered, "+
			"from 1 to 4294967295 (RFC 1982)"))
	}
	if intent.From < 0 || intent.From > maxSerial {
		errs = append(errs, field.Invalid(path.Child("from"), intent.From, "must be a serial of the zone, from 1 to 4294967295 (RFC 1982)"))
	}
	errs = append(errs, validateMessage(intent.Holder, path.Child("holder"))...)
	return append(errs, validateRRsetNames(intent.RRsets, path.Child("rrsets"))...)
}

func validateRRsetNames(listed []string, path *field.Path) field.ErrorList {
	return validateEach(listed, maxIntentRRsets, path, func(text string, at *field.Path) field.ErrorList {
		return validateLength(text, maxRRsetText, at)
	})
}

// validateDeliveryServers validates the rows of servers, each once.
func validateDeliveryServers(servers []v1alpha1.DeliveryServer, path *field.Path) field.ErrorList {
	seen := map[string]bool{}
	return validateEach(servers, maxDeliveryServers, path, func(server v1alpha1.DeliveryServer, at *field.Path) (errs field.ErrorList) {
		switch {
		case server.Name == "":
			errs = append(errs, field.Required(at.Child("name"), "what the class calls the server"))
		case seen[server.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), cut(server.Name)))
		}
		seen[server.Name] = true
		errs = append(errs, validateMessage(server.Name, at.Child("name"))...)
		errs = append(errs, validateConfirmedSerial(server.Serial, at.Child("serial"))...)
		errs = append(errs, validateChoice(server.State, at.Child("state"), v1alpha1.ServerCurrent, v1alpha1.ServerBehind,
			v1alpha1.ServerAhead, v1alpha1.ServerFailed)...)
		errs = append(errs, validateChoice(server.Content, at.Child("content"), v1alpha1.ContentDiffers, v1alpha1.ContentNotCompared)...)
		errs = append(errs, validateConfirmedSerial(server.DiffersSince, at.Child("differsSince"))...)
		return append(errs, validateMessage(server.Message, at.Child("message"))...)
	})
}

func validateConfirmedSerial(serial int64, path *field.Path) field.ErrorList {
	if serial >= 0 && serial <= maxSerial {
		return nil
	}
	return field.ErrorList{field.Invalid(path, serial, "must be from 1 to 4294967295 (RFC 1982), or 0 while none is confirmed")}
}
