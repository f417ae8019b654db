// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package noderig

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/test/rig"
)

const (
	serviceRange  = "10.96.0.0/16"
	apiAddress    = "10.96.0.1"
	namesAddress  = "10.96.0.10"
	clusterDomain = "cluster.local"
)

// proxyLag is as that of a busy kube-proxy: a pod that ends at once is asked in vain.
const proxyLag = 500 * time.Millisecond

func (n *Node) translateServices(changed <-chan struct{}) {
	last := ""
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-changed:
			time.Sleep(proxyLag)
		}
		rules, err := n.makeRules()
		if err == nil && rules != last {
			last, err = rules, setRules(rules)
		}
		if err != nil {
			n.reportFailure(fmt.Errorf("rules of Services: %w", err))
			return
		}
	}
}

func setRules(rules string) error {
	program, err := rig.Find("nft", "apt-get install nftables")
	if err != nil {
		return err
	}
	nft := exec.Command(program, "-f", "-")
	nft.Stdin = strings.NewReader(rules)
	if out, err := nft.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, out, rules)
	}
	return nil
}

func (n *Node) makeRules() (string, error) {
	services, err := n.services.List(labels.Everything())
	if err != nil {
		return "", err
	}
	translated := []string{fmt.Sprintf("ip daddr %s meta l4proto { udp, tcp } th dport 53 dnat to %s", namesAddress, Host)}
	self := map[string]bool{} // for pods that reach themselves by their Service
	for _, service := range services {
		if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
			continue
		}
		for _, port := range service.Spec.Ports {
			ready, err := n.listEndpoints(service, port.Name)
			if err != nil {
				return "", err
			}
			if len(ready) == 0 {
				continue
			}
			var choices []string
			for i, at := range ready {
				choices = append(choices, fmt.Sprintf("%d : %s . %d", i, at.Addr(), at.Port()))
				self[at.Addr().String()] = true
			}
			translated = append(translated, fmt.Sprintf("ip daddr %s %s dport %d dnat ip to numgen random mod %d map { %s }",
				service.Spec.ClusterIP, strings.ToLower(string(port.Protocol)), port.Port, len(ready), strings.Join(choices, ", ")))
		}
	}
	slices.Sort(translated)
	var masqueraded []string
	for address := range self {
		masqueraded = append(masqueraded, fmt.Sprintf("ip saddr %s ip daddr %s masquerade", address, address))
	}
	slices.Sort(masqueraded)
	chain := func(name, hook string, rules ...string) string {
		return fmt.Sprintf("chain %s {\n%s\n%s\n}\n", name, hook, strings.Join(rules, "\n"))
	}
	// A packet still addressed to a Service has no ready pod.
	reject := "ip daddr " + serviceRange + " reject"
	return "table ip services\ndelete table ip services\ntable ip services {\n" +
		chain("translated", "", translated...) +
		chain("enters", "type nat hook prerouting priority -100;", "jump translated") +
		chain("begins", "type nat hook output priority -100;", "jump translated") +
		chain("leaves", "type nat hook postrouting priority 100;", masqueraded...) +
		chain("passes", "type filter hook forward priority 0;", reject) +
		chain("output", "type filter hook output priority 0;", reject) + "}\n", nil
}

func (n *Node) listEndpoints(service *corev1.Service, port string) (ready []netip.AddrPort, err error) {
	all, err := n.slices.EndpointSlices(service.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name}))
	if err != nil {
		return nil, err
	}
	for _, slice := range all {
		for _, of := range slice.Ports {
			if ptr.Deref(of.Name, "") != port || slice.AddressType != discoveryv1.AddressTypeIPv4 {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				if !ptr.Deref(endpoint.Conditions.Ready, true) {
					continue
				}
				for _, address := range endpoint.Addresses {
					at, err := netip.ParseAddr(address)
					if err != nil {
						return nil, err
					}
					ready = append(ready, netip.AddrPortFrom(at, uint16(ptr.Deref(of.Port, 0))))
				}
			}
		}
	}
	slices.SortFunc(ready, netip.AddrPort.Compare)
	return slices.Compact(ready), nil
}

func resolverOf(namespace string) string {
	return "nameserver " + namesAddress + "\nsearch " + namespace + ".svc." + clusterDomain + " svc." + clusterDomain + " " + clusterDomain + "\noptions ndots:5\n"
}

// serveNames answers only for NAME.NAMESPACE.svc.cluster.local, for a headless Service with the ready pods.
func (n *Node) serveNames() error {
	answer := dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		reply := new(dns.Msg).SetRcode(question, dns.RcodeNameError)
		reply.Authoritative = true
		of := question.Question[0]
		parts := strings.Split(strings.TrimSuffix(strings.ToLower(of.Name), "."), ".")
		if len(parts) == 5 && strings.Join(parts[2:], ".") == "svc."+clusterDomain {
			if addresses, ok := n.resolveService(parts[1], parts[0]); ok {
				reply.Rcode = dns.RcodeSuccess
				for _, address := range addresses {
					if of.Qtype == dns.TypeA {
						reply.Answer = append(reply.Answer, &dns.A{Hdr: dns.RR_Header{Name: of.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 5}, A: net.ParseIP(address)})
					}
				}
			}
		}
		_ = w.WriteMsg(reply)
	})
	at := net.JoinHostPort(Host, "53")
	packets, err := net.ListenPacket("udp", at)
	if err != nil {
		return err
	}
	connections, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	go (&dns.Server{PacketConn: packets, Handler: answer}).ActivateAndServe()
	go (&dns.Server{Listener: connections, Handler: answer}).ActivateAndServe()
	return nil
}

func (n *Node) resolveService(namespace, name string) (addresses []string, ok bool) {
	service, err := n.services.Services(namespace).Get(name)
	if err != nil {
		return nil, false
	}
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		return []string{service.Spec.ClusterIP}, true
	}
	for _, port := range service.Spec.Ports {
		ready, err := n.listEndpoints(service, port.Name)
		if err != nil {
			return nil, false
		}
		for _, at := range ready {
			addresses = append(addresses, at.Addr().String())
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), true
}
