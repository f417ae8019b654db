// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	MaxServers = 100
	// MaxClassNamespaces bounds names of namespaces. A selector may select more.
	MaxClassNamespaces = 1000
	MaxClassViews      = 100
	MinDriftInterval   = time.Minute
	MaxDriftInterval   = 7 * 24 * time.Hour
	// MaxWebhookTimeout bounds a provider call, in seconds. After a crash, a controller waits until earlier calls have
	// ended before it repeats its last writes.
	MaxWebhookTimeout     = 30
	maxRequestsPerSecond  = 10_000
	maxInstanceSelections = 16
	maxInstanceNamespaces = 64
	maxPrimaries          = 16
	maxURL                = 2048
	maxCABundle           = 256 << 10
)

// DNSClass validates a new DNSClass. If inlineSecrets is true, the class may contain secrets.
func DNSClass(class *v1alpha1.DNSClass, inlineSecrets bool) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&class.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateDNSClass(class, inlineSecrets)...)
}

func DNSClassUpdate(after, before *v1alpha1.DNSClass, inlineSecrets bool) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	if was, is := before.Spec.Bind9, after.Spec.Bind9; was != nil && is != nil && class.ModeOf(was) != class.ModeOf(is) {
		errs = append(errs, refusal.Cite("S11.15", field.Invalid(specPath.Child("bind9", "mode"), is.Mode,
			fmt.Sprintf("is immutable, and was %s: zones are withdrawn in the way in which they were delivered; create another class, "+
				"and name it in the zones", class.ModeOf(was)))))
	}
	// The serial of a catalog grows with its members alone, so servers would not learn of another group.
	if was, is := before.Spec.Transfer, after.Spec.Transfer; was != nil && is != nil && was.CatalogGroup != is.CatalogGroup {
		errs = append(errs, field.Invalid(specPath.Child("transfer", "catalogGroup"), cut(is.CatalogGroup), fmt.Sprintf("is immutable, "+
			"and was %q: create another class, and name it in the zones", was.CatalogGroup)))
	}
	return append(errs, onlyNewErrors(validateDNSClass(after, inlineSecrets),
		func() field.ErrorList { return validateDNSClass(before, inlineSecrets) })...)
}

// DNSClassStatusUpdate validates a status written by the controller of the class.
func DNSClassStatusUpdate(after, before *v1alpha1.DNSClass) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	status := field.NewPath("status")
	if health := after.Status.Health; health != nil {
		path := status.Child("health")
		known := []v1alpha1.HealthStatus{v1alpha1.HealthStatusHealthy, v1alpha1.HealthStatusUnhealthy, v1alpha1.HealthStatusUnknown}
		if !slices.Contains(known, health.Status) {
			errs = append(errs, field.NotSupported(path.Child("status"), health.Status, known))
		}
		errs = append(errs, validateMessage(health.Message, path.Child("message"))...)
	}
	return append(errs, validateConditions(after.Status.Conditions, status.Child("conditions"))...)
}

// validateDNSClass validates what a new and a changed class have in common. The only provider block validates its own
// fields.
func validateDNSClass(of *v1alpha1.DNSClass, inlineSecrets bool) field.ErrorList {
	spec := &of.Spec
	var errs field.ErrorList
	if text, ok := of.Annotations[v1alpha1.AnnotationDefaultClass]; ok && text != "true" && text != "false" {
		// Any other text would count as false.
		errs = append(errs, field.NotSupported(field.NewPath("metadata", "annotations").Key(v1alpha1.AnnotationDefaultClass), text,
			[]string{"true", "false"}))
	}
	errs = append(errs, validateSeconds(spec.DefaultTTL, 0, specPath.Child("defaultTTL"))...)
	errs = append(errs, validateDefaultServers(spec.NameServers)...)
	errs = append(errs, validateNamespaceSelection(spec.Namespaces)...)
	errs = append(errs, validateViews(spec.Views)...)
	errs = append(errs, validateRange(spec.RequestsPerSecond, maxRequestsPerSecond, "requests a second",
		specPath.Child("requestsPerSecond"))...)
	if d := spec.DriftInterval; d != nil && (d.Duration < MinDriftInterval || d.Duration > MaxDriftInterval ||
		d.Duration%time.Second != 0) {
		errs = append(errs, field.Invalid(specPath.Child("driftInterval"), d.Duration.String(), "must be whole seconds from 1m to 168h, "+
			"which is 7 days; to compare a zone now, annotate it with "+v1alpha1.AnnotationVerifyRequestedAt))
	}
	// Each block is validated, even if there are two: the user may keep either.
	errs = append(errs, validateOneProvider(spec)...)
	for _, kind := range class.ProvidersOf(spec) {
		errs = append(errs, providers[kind].validate(spec, inlineSecrets, specPath.Child(kind))...)
	}
	return errs
}

func validateDefaultServers(servers []v1alpha1.NameServer) field.ErrorList {
	errs := validateNameServers(servers, "")
	for i, server := range servers {
		if name.IsAbsolute(server.Name) && len(server.Addresses) > 0 {
			errs = append(errs, refusal.Cite("S6.2", field.Forbidden(specPath.Child("nameServers").Index(i).Child("addresses"),
				fmt.Sprintf("%s is a host of one zone, and the class has many: leave its addresses out, "+
					"or name a host relative to the zone", cut(server.Name)))))
		}
	}
	return errs
}

type providerRules struct {
	validate func(spec *v1alpha1.DNSClassSpec, inlineSecrets bool, path *field.Path) field.ErrorList
	warn     func(spec *v1alpha1.DNSClassSpec) []string
	// server returns the server to which the class writes. Nil if servers transfer from the primary.
	server func(spec *v1alpha1.DNSClassSpec) string
}

var providers = map[string]providerRules{
	"transfer": {validate: validateTransfer, warn: warnOfTransfer},
	"bind9":    {validate: validateBind9},
	"rfc2136": {validate: validateRFC2136, server: func(spec *v1alpha1.DNSClassSpec) string { return spec.RFC2136.Server },
		warn: func(spec *v1alpha1.DNSClassSpec) []string {
			return localWarnings(spec, "spec.rfc2136.server", spec.RFC2136.Server)
		}},
	"webhook": {validate: validateWebhook, server: func(spec *v1alpha1.DNSClassSpec) string { return spec.Webhook.Server },
		warn: warnOfWebhook},
}

// validateOneProvider refuses a class without a provider block, and each further block. Zones may name several classes
// instead.
func validateOneProvider(spec *v1alpha1.DNSClassSpec) field.ErrorList {
	kinds, given := class.Providers(), class.ProvidersOf(spec)
	all := strings.Join(kinds[:len(kinds)-1], ", ") + " and " + kinds[len(kinds)-1]
	if len(given) == 0 {
		return field.ErrorList{field.Required(specPath, "exactly one provider block: one of "+all)}
	}
	var errs field.ErrorList
	for _, further := range given[1:] {
		errs = append(errs, field.Forbidden(specPath.Child(further), fmt.Sprintf("spec.%s is set too: a class has exactly one of %s; "+
			"create a second class, and name both in spec.dnsClassRefs of the zones", given[0], all)))
	}
	return errs
}

func validateNamespaceSelection(namespaces *v1alpha1.NamespaceSelection) field.ErrorList {
	if namespaces == nil {
		return nil
	}
	return validateSelection(namespaces.Names, namespaces.Selector, specPath.Child("namespaces"))
}

func validateSelection(names []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	errs := validateNamespaces(names, MaxClassNamespaces, path.Child("names"))
	return append(errs, validateSelector(selector, path.Child("selector"))...)
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{}, path)
}

func validateViews(of []string) field.ErrorList {
	return validateSet(of, MaxClassViews, specPath.Child("views"), func(text string, at *field.Path) (errs field.ErrorList) {
		if text == "" || text == class.EveryView {
			return nil
		}
		for _, message := range utilvalidation.IsDNS1123Label(text) {
			errs = append(errs, field.Invalid(at, cut(text), message+`; "" is the default view, "*" is every view`))
		}
		return errs
	})
}

// validateTransfer validates a class whose servers transfer zones from the primary.
func validateTransfer(spec *v1alpha1.DNSClassSpec, _ bool, path *field.Path) field.ErrorList {
	transfer := spec.Transfer
	var errs field.ErrorList
	servers := path.Child("secondaries")
	if len(transfer.Secondaries) == 0 && transfer.TSIGSecretRef == nil && transfer.TLS == nil {
		// Without servers, zones would be Ready at once.
		errs = append(errs, field.Required(servers, "without any, and without tsigSecretRef, no server may transfer the zones; "+
			"list the name servers that get them, or name in tsigSecretRef a key for servers that Ready does not wait for"))
	}
	seen := map[netip.AddrPort]bool{}
	judge := func(server v1alpha1.Secondary, at *field.Path) field.ErrorList {
		errs := validateServerAddress(server.Address, seen, at.Child("address"))
		if server.TSIGSecretRef != nil {
			errs = append(errs, validateSecretRef(*server.TSIGSecretRef, at.Child("tsigSecretRef"))...)
		}
		errs = append(errs, validateTLSServer(server, transfer.TLS, at.Child("tlsServer"))...)
		errs = append(errs, validateChoice(server.Catalog, at.Child("catalog"), v1alpha1.CatalogFollow, v1alpha1.CatalogIgnore)...)
		return append(errs, validateSigner(server, transfer.Secondaries, at)...)
	}
	errs = append(errs, validateEach(transfer.Secondaries, MaxServers, servers, judge)...)
	// Servers in alsoNotify get NOTIFY, and Ready does not wait for them.
	errs = append(errs, validateServerAddresses(transfer.AlsoNotify, MaxServers, path.Child("alsoNotify"))...)
	if transfer.TSIGSecretRef != nil {
		errs = append(errs, validateSecretRef(*transfer.TSIGSecretRef, path.Child("tsigSecretRef"))...)
	}
	if text := transfer.CatalogZone; text != "" {
		errs = append(errs, validateCatalogZone(text, path.Child("catalogZone"))...)
	}
	errs = append(errs, validateCatalogGroup(transfer.CatalogGroup, transfer.CatalogZone, path.Child("catalogGroup"))...)
	return append(errs, validateTransferTLS(transfer.TLS, path.Child("tls"))...)
}

// validateCatalogGroup refuses a group that is not one string of a TXT record in printable ASCII, and one without a
// catalog.
func validateCatalogGroup(group, catalogZone string, path *field.Path) field.ErrorList {
	isOther := func(r rune) bool { return r < ' ' || r > '~' }
	switch {
	case group == "":
		return nil
	case catalogZone == "":
		return field.ErrorList{field.Forbidden(path, "is a property of zones in a catalog: set catalogZone, or leave it out")}
	case len(group) > 255 || strings.ContainsFunc(group, isOther):
		return field.ErrorList{field.Invalid(path, cut(group), "must have at most 255 printable ASCII characters, such as the name of a "+
			"Knot template")}
	}
	return nil
}

func validateTransferTLS(of *v1alpha1.TransferTLS, path *field.Path) field.ErrorList {
	if of == nil {
		return nil
	}
	errs := validateSecretRef(of.ServerSecretRef, path.Child("serverSecretRef"))
	errs = append(errs, validateSecretRef(of.ClientCASecretRef, path.Child("clientCASecretRef"))...)
	return append(errs, validateSet(of.ClientNames, MaxServers, path.Child("clientNames"), validateHostInCertificate)...)
}

// validateTLSServer refuses tlsServer in a class without TLS, and a signing server without it in a class with TLS: the
// controller transfers what the server signs.
func validateTLSServer(server v1alpha1.Secondary, of *v1alpha1.TransferTLS, path *field.Path) field.ErrorList {
	switch {
	case of == nil && server.TLSServer != "":
		return field.ErrorList{field.Forbidden(path, "the class has no tls: set transfer.tls, or leave it out")}
	case of != nil && server.TLSServer == "" && server.Signs:
		return field.ErrorList{field.Required(path, "the controller compares what the server signs, and zones of the class go over TLS "+
			"alone: the host name in the server's certificate")}
	case server.TLSServer == "":
		return nil
	}
	return validateHostInCertificate(server.TLSServer, path)
}

func validateHostInCertificate(text string, path *field.Path) field.ErrorList {
	return rejectValue(text, utilvalidation.IsDNS1123Subdomain(text), path)
}

// validateSigner refuses a secondary with both signs and a signer, or with a signer outside the class.
func validateSigner(server v1alpha1.Secondary, all []v1alpha1.Secondary, path *field.Path) field.ErrorList {
	at := path.Child("signer")
	switch {
	case server.Signer == "":
		return nil
	case server.Signs:
		return field.ErrorList{field.Invalid(at, cut(server.Signer), "the server signs by itself (signs: true): remove signs, "+
			"if it transfers signed zones, else remove signer")}
	case !slices.ContainsFunc(all, func(other v1alpha1.Secondary) bool { return other.Address == server.Signer && other.Signs }):
		return field.ErrorList{field.Invalid(at, cut(server.Signer), "is not the address of a secondary of this class with signs: true: "+
			"write that address as the other secondary writes it")}
	}
	return nil
}

// validateBind9 validates a class of Bind9Instances, chosen by cluster, by labels, or both (S11.13).
func validateBind9(spec *v1alpha1.DNSClassSpec, _ bool, path *field.Path) field.ErrorList {
	servers := spec.Bind9
	var errs field.ErrorList
	if servers.ClusterRef == nil && len(servers.InstancesFrom) == 0 {
		errs = append(errs, refusal.Cite("S11.13",
			field.Required(path.Child("clusterRef"), "without it and without instancesFrom the class has no servers: "+
				"name a Bind9Cluster, or select Bind9Instances by their labels")))
	}
	// The cluster need not exist yet.
	if ref, at := servers.ClusterRef, path.Child("clusterRef"); ref != nil {
		if ref.Namespace == "" {
			errs = append(errs, field.Required(at.Child("namespace"), "the namespace of the Bind9Cluster: a class has none of its own"))
		} else {
			errs = append(errs, validateNamespace(ref.Namespace, at.Child("namespace"))...)
		}
		errs = append(errs, validateObjectName(ref.Name, "the metadata.name of the Bind9Cluster", at.Child("name"))...)
	}
	errs = append(errs, validateEach(servers.InstancesFrom, maxInstanceSelections, path.Child("instancesFrom"),
		func(from v1alpha1.Bind9InstanceSelection, at *field.Path) field.ErrorList {
			errs := validateSelector(&from.Selector, at.Child("selector"))
			at = at.Child("namespaces")
			if len(from.Namespaces) == 0 {
				errs = append(errs, refusal.Cite("S11.13",
					field.Required(at, "the names of the namespaces of the instances: a server of the class gets all "+
						"of its zones, and a team may give an instance of its own any label")))
			}
			return append(errs, validateNamespaces(from.Namespaces, maxInstanceNamespaces, at)...)
		})...)
	// Of an unknown mode nothing can be said about catalogZone and primaries.
	if unknown := validateChoice(servers.Mode, path.Child("mode"), v1alpha1.Bind9ModeCatalog, v1alpha1.Bind9ModeTransfer,
		v1alpha1.Bind9ModeUpdate); len(unknown) > 0 {
		return append(errs, unknown...)
	}
	return append(errs, validateMode(servers, path)...)
}

// validateMode refuses fields of another mode than the class has, and requires those of its mode (S11.15).
func validateMode(servers *v1alpha1.Bind9Provider, path *field.Path) (errs field.ErrorList) {
	catalog, primaries := path.Child("catalogZone"), path.Child("primaries")
	switch byCatalog := class.ModeOf(servers) == v1alpha1.Bind9ModeCatalog; {
	case byCatalog && servers.CatalogZone == "":
		errs = append(errs, field.Required(catalog, "the name of a zone that the servers learn the zones of the class from, "+
			"below a domain of yours, as catalog.example.org. (RFC 9432 §4)"))
	case byCatalog:
		errs = append(errs, validateCatalogZone(servers.CatalogZone, catalog)...)
	case servers.CatalogZone != "":
		errs = append(errs, refusal.Cite("S11.15",
			field.Forbidden(catalog, fmt.Sprintf("servers follow a catalog in the mode Catalog alone, and mode is %s: "+
				"leave it out", servers.Mode))))
	}
	switch n := len(servers.Primaries); {
	case servers.Mode != v1alpha1.Bind9ModeTransfer && n > 0:
		return append(errs, refusal.Cite("S11.15",
			field.Forbidden(primaries, "agents make zones secondaries of these in the mode Transfer alone: "+
				"leave it out")))
	case servers.Mode == v1alpha1.Bind9ModeTransfer && n == 0:
		return append(errs, refusal.Cite("S11.15",
			field.Required(primaries, "the addresses of the hidden primary as the servers reach it, "+
				"as 192.0.2.1 or 192.0.2.1:5353")))
	}
	return append(errs, validateServerAddresses(servers.Primaries, maxPrimaries, primaries)...)
}

// validateCatalogZone refuses a relative name, the root and a wildcard. The zone need not exist in the DNS.
func validateCatalogZone(text string, path *field.Path) field.ErrorList {
	if !name.IsAbsolute(text) {
		return field.ErrorList{field.Invalid(path, cut(text), fmt.Sprintf("is relative: write %q, an absolute name with a trailing dot",
			cut(text+".")))}
	}
	fqdn, err := name.Parse(text)
	if err == nil && (fqdn == name.Root || fqdn.IsWildcard()) {
		err = errors.New("cannot be the name of a zone of its own: write one below a domain of yours, " +
			"as catalog.example.org. (RFC 9432 §4)")
	}
	return rejectError(text, err, path)
}

func validateServerAddresses(list []string, most int, path *field.Path) field.ErrorList {
	seen := map[netip.AddrPort]bool{}
	return validateEach(list, most, path, func(text string, at *field.Path) field.ErrorList {
		return validateServerAddress(text, seen, at)
	})
}

// validateServerAddress validates an IP address with or without a port, and adds it to seen, the previous addresses,
// with port 53 by default.
func validateServerAddress(text string, seen map[netip.AddrPort]bool, path *field.Path) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, `an IP address with or without a port: "192.0.2.1", "192.0.2.1:5353", `+
			`"[2001:db8::1]:53"`)}
	}
	server, err := netip.ParseAddrPort(text)
	if err != nil {
		// No port: DNS has port 53.
		address, err := netip.ParseAddr(text)
		if err != nil {
			return field.ErrorList{field.Invalid(path, cut(text), `is no IP address with or without a port: write "192.0.2.1", `+
				`"192.0.2.1:5353" or "[2001:db8::1]:53"`)}
		}
		server = netip.AddrPortFrom(address, 53)
	}
	address := server.Addr()
	switch {
	case server.Port() == 0:
		return field.ErrorList{field.Invalid(path, text, "has port 0, which no server listens on: write a port from 1 to 65535, "+
			"or none for 53")}
	case address.Zone() != "":
		return field.ErrorList{field.Invalid(path, text, "has a scope zone, which has a meaning on one machine only: "+
			"write an address without it")}
	// ::ffff:192.0.2.1 and 192.0.2.1 are the same server, and would count as two.
	case address.Is4In6():
		return field.ErrorList{field.Invalid(path, text, "is an IPv4 address mapped into IPv6: write "+netip.AddrPortFrom(address.Unmap(),
			server.Port()).String())}
	case address.IsUnspecified(), address.IsMulticast():
		return field.ErrorList{field.Invalid(path, text, "is not the address of one server")}
	case seen[server]:
		return field.ErrorList{field.Duplicate(path, text)}
	}
	seen[server] = true
	return nil
}

// validateRFC2136 validates a class that writes by dynamic updates to another operator's primary.
func validateRFC2136(spec *v1alpha1.DNSClassSpec, _ bool, path *field.Path) field.ErrorList {
	update := spec.RFC2136
	var errs field.ErrorList
	if update.Server == "" {
		errs = append(errs, field.Required(path.Child("server"), `the host that takes the updates: "ns1.example.net", "192.0.2.1:53"`))
	} else {
		errs = append(errs, validateHostPort(update.Server, path.Child("server"))...)
	}
	if update.TransferServer != "" {
		errs = append(errs, validateHostPort(update.TransferServer, path.Child("transferServer"))...)
	}
	errs = append(errs, validateChoice(update.ForeignRecords, path.Child("foreignRecords"), v1alpha1.ForeignRecordsKeep,
		v1alpha1.ForeignRecordsReplace)...)
	return append(errs, validateSecretRef(update.TSIGSecretRef, path.Child("tsigSecretRef"))...)
}

// validateHostPort validates a host name or address with or without a port. An IPv6 address with a port needs brackets.
func validateHostPort(text string, path *field.Path) field.ErrorList {
	wrong := func(why string) field.ErrorList { return field.ErrorList{field.Invalid(path, cut(text), why)} }
	const examples = `write a host with or without a port: "ns1.example.net", "ns1.example.net:5353", "192.0.2.1", "[2001:db8::1]:53"`
	host, port := text, "53"
	// 2001:db8::1 has colons and no port, so try the whole text as an address first.
	if address, err := netip.ParseAddr(text); err != nil {
		if at := strings.LastIndexByte(text, ':'); at >= 0 {
			host, port = text[:at], text[at+1:]
		}
		if bare, ok := strings.CutPrefix(host, "["); ok {
			if host, ok = strings.CutSuffix(bare, "]"); !ok {
				return wrong("has a bracket that is not closed: " + examples)
			}
			if address, err := netip.ParseAddr(host); err != nil || !address.Is6() {
				return wrong("has brackets around what is no IPv6 address: " + examples)
			}
		} else if strings.Contains(host, ":") {
			return wrong("is an IPv6 address with a port and without brackets, or no address: " + examples)
		}
	} else if address.Zone() != "" {
		return wrong("has a scope zone, which has a meaning on one machine only: write an address without it")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return wrong(fmt.Sprintf("port %q is no port number: write one from 1 to 65535, or leave it out for 53", cut(port)))
	}
	return validateHost(host, text, path)
}

// validateHost validates a host, an address or a name. text is the whole field, for the error.
func validateHost(host, text string, path *field.Path) field.ErrorList {
	if address, err := netip.ParseAddr(host); err == nil {
		if address.Zone() != "" || address.IsUnspecified() || address.IsMulticast() {
			return field.ErrorList{field.Invalid(path, cut(text), "is not the address of one server")}
		}
		return nil
	}
	var errs field.ErrorList
	lower := strings.ToLower(strings.TrimSuffix(host, "."))
	for _, wrong := range utilvalidation.IsDNS1123Subdomain(lower) {
		errs = append(errs, field.Invalid(path, cut(text), "its host is neither an IP address nor a host name: "+wrong))
	}
	// The C library's resolver reads 0x7f.1 and 2130706433 as addresses.
	if last := lower[strings.LastIndexByte(lower, '.')+1:]; len(errs) == 0 && looksNumeric(last) {
		errs = append(errs, field.Invalid(path, cut(text), "its host ends in a number and is no IP address: "+
			"write the address in full (192.0.2.1), or a host name"))
	}
	return errs
}

func looksNumeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	if digits == "" {
		return hex
	}
	return strings.Trim(digits, "0123456789") == "" || hex && strings.Trim(digits, "0123456789abcdef") == ""
}

// validateWebhook validates a class that calls an HTTP service. A token is sent only by https.
func validateWebhook(spec *v1alpha1.DNSClassSpec, inlineSecrets bool, path *field.Path) field.ErrorList {
	webhook := spec.Webhook
	secure, errs := validateServerURL(webhook.Server, path.Child("server"))
	errs = append(errs, validateRange(webhook.TimeoutSeconds, MaxWebhookTimeout, "seconds", path.Child("timeoutSeconds"))...)
	if auth := webhook.HMACAuth; auth != nil {
		errs = append(errs, validateHMACAuth(auth, inlineSecrets, path.Child("hmacAuth"))...)
	}
	if tls := webhook.TLS; tls != nil {
		at := path.Child("tls")
		if !secure {
			errs = append(errs, field.Forbidden(at, "spec.webhook.server is not an https URL, so there is no TLS: write https, "+
				"or leave this out"))
		}
		errs = append(errs, validateCABundle(tls.CABundle, at.Child("caBundle"))...)
		if tls.ClientSecretRef != nil {
			errs = append(errs, validateSecretRef(*tls.ClientSecretRef, at.Child("clientSecretRef"))...)
		}
	}
	// Unlike a signature by HMAC, a token can be repeated by every reader of the request.
	if token := webhook.BearerTokenFrom; token != nil {
		at := path.Child("bearerTokenFrom")
		if !secure {
			errs = append(errs, field.Forbidden(at, "spec.webhook.server is not an https URL, and a token is not sent where others can "+
				"read it: write https, or use hmacAuth"))
		}
		errs = append(errs, validateSecretKeyRef(*token, at)...)
	}
	errs = append(errs, validateChoice(webhook.ApexNS, path.Child("apexNS"), v1alpha1.ApexNSDeliver, v1alpha1.ApexNSSkip)...)
	return errs
}

// validateServerURL validates the base URL of a service, and reports whether it is an https URL.
func validateServerURL(text string, path *field.Path) (secure bool, errs field.ErrorList) {
	const example = `write one like "https://dns-webhook.example.net/v1"`
	wrong := func(why string) (bool, field.ErrorList) {
		return secure, field.ErrorList{field.Invalid(path, cut(text), why)}
	}
	if text == "" {
		return false, field.ErrorList{field.Required(path, "the base URL of the service: "+example)}
	}
	if len(text) > maxURL {
		return false, field.ErrorList{field.TooLong(path, "", maxURL)}
	}
	parsed, err := url.Parse(text)
	if err != nil {
		// The parser's error has the text, perhaps with a password.
		return false, field.ErrorList{field.Invalid(path, field.OmitValueType{}, "is no URL: "+example)}
	}
	secure = parsed.Scheme == "https"
	// Here too the error must not repeat the text.
	if parsed.User != nil {
		return secure, field.ErrorList{field.Invalid(path, field.OmitValueType{}, "has a user name or password, "+
			"which every user with read permission for the class sees: remove it and use hmacAuth or bearerTokenFrom")}
	}
	switch {
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return wrong("is not an http or https URL: " + example)
	case parsed.Opaque != "" || parsed.Hostname() == "":
		return wrong("has no host: " + example)
	case parsed.RawQuery != "" || parsed.ForceQuery:
		return wrong("has a query, and requests have their own: write scheme, host and path alone")
	case parsed.Fragment != "" || strings.Contains(text, "#"):
		return wrong("has a fragment, which is never sent: write scheme, host and path alone")
	case !hasUsablePort(parsed):
		return wrong(fmt.Sprintf("port %q is no port number: write one from 1 to 65535, or leave it out for that of the "+
			"scheme", cut(parsed.Port())))
	}
	return secure, validateHost(parsed.Hostname(), text, path)
}

func hasUsablePort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// validateHMACAuth validates the shared secret: in a Secret, or, for kubizone up with --allow-inline-secrets, in the
// class itself.
func validateHMACAuth(auth *v1alpha1.HMACAuth, inlineSecrets bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	// Exactly one of secretRef and secret.
	switch {
	case auth.SecretRef == nil && auth.Secret == "":
		errs = append(errs, field.Required(path.Child("secretRef"), "name, namespace and key of the Secret with the shared secret"))
	case auth.SecretRef != nil && auth.Secret != "":
		errs = append(errs, field.Forbidden(path.Child("secret"), "secretRef is set too: keep secretRef alone"))
	case auth.Secret != "" && !inlineSecrets:
		errs = append(errs, field.Forbidden(path.Child("secret"), "every user with read permission for the class sees it: "+
			"put it into a Secret and name that in secretRef; only kubizone up with --allow-inline-secrets accepts it here"))
	}
	if auth.SecretRef != nil {
		errs = append(errs, validateSecretKeyRef(*auth.SecretRef, path.Child("secretRef"))...)
	}
	errs = append(errs, validateChoice(auth.Algorithm, path.Child("algorithm"), v1alpha1.HMACAlgorithmSHA256,
		v1alpha1.HMACAlgorithmSHA512)...)
	return errs
}

// validateCABundle omits the bundle from errors, because the text is long and unreadable.
func validateCABundle(bundle []byte, path *field.Path) field.ErrorList {
	if wrong := checkCABundle(bundle); len(bundle) > 0 && wrong != "" {
		return field.ErrorList{field.Invalid(path, fmt.Sprintf("%d bytes", len(bundle)), wrong)}
	}
	return nil
}

// checkCABundle returns "" for a list of PEM certificates, or else a message. A pasted private key is refused, since
// every reader of the class would see the key.
func checkCABundle(bundle []byte) string {
	if len(bundle) > maxCABundle {
		return fmt.Sprintf("more than %d bytes: list the authorities of this server alone", maxCABundle)
	}
	count := 0
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			// A certificate cut short by a copy ends up here.
			if strings.TrimSpace(string(rest)) != "" && count > 0 {
				return fmt.Sprintf("the data after certificate %d is not PEM", count)
			}
			break
		}
		count++
		if block.Type != "CERTIFICATE" {
			return fmt.Sprintf("block %d is a %s: list certificates alone", count, cut(block.Type))
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Sprintf("certificate %d does not parse: %v", count, err)
		}
	}
	if count == 0 {
		return "has no certificate: give PEM that begins with -----BEGIN CERTIFICATE----- (in JSON and YAML as base64)"
	}
	return ""
}

func validateSecretRef(ref v1alpha1.SecretReference, path *field.Path) field.ErrorList {
	errs := validateObjectName(ref.Name, "the metadata.name of the Secret", path.Child("name"))
	if ref.Namespace == "" {
		return append(errs, field.Required(path.Child("namespace"), "the namespace of the Secret: a class has none of its own"))
	}
	return append(errs, validateNamespace(ref.Namespace, path.Child("namespace"))...)
}

func validateSecretKeyRef(ref v1alpha1.SecretKeyReference, path *field.Path) field.ErrorList {
	errs := validateSecretRef(v1alpha1.SecretReference{Name: ref.Name, Namespace: ref.Namespace}, path)
	return append(errs, validateDataKey(ref.Key, "value", path.Child("key"))...)
}

func validateDataKey(key, of string, path *field.Path) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Required(path, "the key of the "+of+" in the Secret's data")}
	}
	return rejectValue(key, utilvalidation.IsConfigMapKey(key), path)
}

func validateChoice[T ~string](value T, path *field.Path, choices ...T) field.ErrorList {
	if value == "" || slices.Contains(choices, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, choices)}
}

func validateRange(value *int32, most int32, unit string, path *field.Path) field.ErrorList {
	if value == nil || *value >= 1 && *value <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, fmt.Sprintf("must be from 1 to %d %s", most, unit))}
}

// DNSClassWarnings warns of a class that may deliver no zone, and of probable mistakes in its provider block.
func DNSClassWarnings(of *v1alpha1.DNSClass) []string {
	var warnings []string
	spec := &of.Spec
	switch {
	case spec.Namespaces == nil && of.Annotations[v1alpha1.AnnotationDefaultClass] != "true":
		warnings = append(warnings, "spec.namespaces: is absent and the class is not a default one, so it may deliver no zone; "+
			"{selector: {}} selects every namespace")
	case spec.Namespaces != nil && len(spec.Namespaces.Names) == 0 && spec.Namespaces.Selector == nil:
		warnings = append(warnings, "spec.namespaces: selects no namespace, so the class may deliver no zone; {selector: "+
			"{}} selects every namespace")
	}
	for _, kind := range class.ProvidersOf(spec) {
		if warn := providers[kind].warn; warn != nil {
			warnings = append(warnings, warn(spec)...)
		}
	}
	return boundWarnings(warnings)
}

func warnOfTransfer(spec *v1alpha1.DNSClassSpec) (warnings []string) {
	for i, s := range spec.Transfer.Secondaries {
		warnings = append(warnings, localWarnings(spec, fmt.Sprintf("spec.transfer.secondaries[%d].address", i), s.Address)...)
	}
	for i, text := range spec.Transfer.AlsoNotify {
		warnings = append(warnings, localWarnings(spec, fmt.Sprintf("spec.transfer.alsoNotify[%d]", i), text)...)
	}
	return warnings
}

// warnOfWebhook warns of requests without protection on the network path, and of a secret in the class.
func warnOfWebhook(spec *v1alpha1.DNSClassSpec) (warnings []string) {
	w := spec.Webhook
	parsed, err := url.Parse(w.Server)
	if err == nil {
		warnings = localWarnings(spec, "spec.webhook.server", parsed.Hostname())
	}
	if err == nil && parsed.Scheme == "http" && w.HMACAuth == nil {
		warnings = append(warnings, "spec.webhook: requests over http without hmacAuth can be read, changed and forged on the network path")
	}
	if w.HMACAuth != nil && w.HMACAuth.Secret != "" {
		warnings = append(warnings, "spec.webhook.hmacAuth.secret: every user with read permission for the class sees it; "+
			"secretRef names it in a Secret")
	}
	return warnings
}

// DNSClassUpdateWarnings returns DNSClassWarnings, and a warning if the class now writes to another server.
func DNSClassUpdateWarnings(after, before *v1alpha1.DNSClass) []string {
	warnings := DNSClassWarnings(after)
	_, from := writesTo(&before.Spec)
	if path, to := writesTo(&after.Spec); from != to {
		warnings = append(warnings, fmt.Sprintf("%s: the new server gets every zone of the class, and the old server keeps its copies: "+
			"delete them there, or create a second class for the new server, since a zone that changes its class is withdrawn from the "+
			"old one", path))
	}
	return warnings
}

func writesTo(spec *v1alpha1.DNSClassSpec) (path, server string) {
	kind := class.ProviderOf(spec)
	if of := providers[kind].server; of != nil {
		return "spec." + kind + ".server", kind + " " + of(spec)
	}
	return "spec", ""
}
