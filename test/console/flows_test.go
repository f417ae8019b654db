// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestOverview_isStatusAndFollows(t *testing.T) {
	s := needStage(t)
	b := s.newTab(t)
	b.expectText("#main", "zones of all namespaces, ", "Not current", "Paused", "net/paused", "example.org.", "Processes",
		"controller", "Certificates", "NoEnclosingZone")
	b.expectText("#live-state", "live")
	s.writeObject(t, http.MethodPost, "/namespaces/net/zones", `{"metadata":{"name":"fresh"},"spec":{"domainName":"fresh.example.net."}}`)
	b.waitFor("the new zone is on the page", func() bool { return strings.Contains(b.readText("#main"), "fresh.example.net.") })
	s.writeObject(t, http.MethodDelete, "/namespaces/net/zones/fresh", "")
	b.waitFor("the deleted zone is gone", func() bool { return !strings.Contains(b.readText("#main"), "fresh.example.net.") })
	b.runActions(chromedp.Click(`//a[text()="example.org."]`, chromedp.BySearch), chromedp.WaitVisible("nav.tabs"))
	b.expectText("h1", "example.org.")
	b.expectPeace()
}

func TestZones_areFiltered(t *testing.T) {
	b := needStage(t).newTab(t)
	b.visitPage("/zones")
	b.expectText("#live", "example.org.", "dev.example.org.", "example.net.", "paused")
	b.runActions(chromedp.SendKeys("input[name=name]", "DEV.example", chromedp.ByQuery))
	b.waitFor("only dev is shown", func() bool {
		text := b.readText("#live")
		return strings.Contains(text, "dev.example.org.") && !strings.Contains(text, "example.net.")
	})
	b.visitPage("/zones")
	b.runActions(chromedp.SendKeys("input[name=search]", "198.51.100.0/24\n", chromedp.ByQuery))
	b.expectText("main", "with “198.51.100.0/24”", "shop.example.net.", "team-c/shop", "ns2.example.org.",
		"kubectl kubizone who 198.51.100.0/24")
	b.visitPage("/zones?namespace=net&sign=paused")
	b.expectText("#live", "1 of ", "paused.example.net.")
	b.visitPage("/zones?class=public")
	b.expectText("#live", "2 of ")
	b.visitPage("/zones?reason=ServerUnreachable")
	b.expectText("#live", "1 of ", "example.net.")
	b.expectPeace()
}

func TestRecords_areFiltered(t *testing.T) {
	s := needStage(t)
	b := s.newTab(t)
	b.visitPage("/records?namespace=team-c")
	b.expectText("#live", "2 Records of namespace team-c", "shop.example.net.", "198.51.100.80", "not current", "net/example-net",
		"www.nowhere.example.", "NoEnclosingZone", "kubectl get records -n team-c") // waiting, or stalled after two minutes
	b.expectText("#live-state", "live")
	b.runActions(chromedp.SetValue("select[name=state]", "waiting", chromedp.ByQuery),
		chromedp.Click("form button", chromedp.ByQuery))
	b.waitFor("only the waiting Record is shown", func() bool {
		text := b.readText("#live")
		return strings.Contains(text, "1 Record of namespace team-c, waiting") && !strings.Contains(text, "shop.example.net.")
	})
	s.writeObject(t, http.MethodPost, "/namespaces/team-c/records",
		`{"metadata":{"name":"late"},"spec":{"domainName":"late.nowhere.example.","type":"A","rdata":"192.0.2.9"}}`)
	b.expectText("#live", "2 Records", "late.nowhere.example.")
	s.writeObject(t, http.MethodDelete, "/namespaces/team-c/records/late", "")
	b.waitFor("the deleted Record is gone", func() bool { return !strings.Contains(b.readText("#live"), "late.nowhere.example.") })
	b.visitPage("/records?state=not+Ready")
	b.expectText("#live", "of all namespaces, not Ready", "www.nowhere.example.", "www.example.net.")
	b.visitPage("/records?state=withdrawn")
	b.expectText("#live", "0 Records")
	b.visitPage("/records?namespace=nobody")
	b.expectText("#live", "0 Records of namespace nobody")
	b.visitPage("/records?namespace=team-c")
	b.runActions(chromedp.Click(`//a[text()="www.nowhere.example."]`, chromedp.BySearch),
		chromedp.WaitVisible("ol.chain", chromedp.ByQuery))
	b.expectText("main", "record team-c/lost", "NoEnclosingZone", "kubectl kubizone why record/lost -n team-c")
	b.expectPeace()
}

// Names in lists of entries, changes and claims are links to the page of the name, and serials are links to their
// changes.
func TestNames_areLinks(t *testing.T) {
	b := needStage(t).newTab(t)
	for _, one := range []struct{ page, link, want string }{
		{"/zones/net/example-net?search=shop", "shop.example.net.", "record team-c/shop"},
		{"/zones/net/example-net?search=shop", "team-c/shop", "record team-c/shop"},
		{"/zones/net/example-net?search=ns1", "ns1.example.net.", "is made from spec.nameServers of Zone net/example-net"},
		{"/zones/search?search=192.0.2.7", "www.example.net.", "record net/www"},
		{"/zones/search?search=192.0.2.7", "example.net.", "net/example-net"},
		{"/zones/net/example-net/history", "net/www", "record net/www"},
		{"/zones/net/example-net/history", "www.example.net.", "record net/www"},
		{"/zones/net/example-net/rules", "shop.example.net.", "record team-c/shop"},
		{"/zones/net/example-net/rules", "team-c", "Records of namespace team-c"},
		{"/", "team-c/lost", "record team-c/lost"},
		{"/name?text=www.example.net", "example.net.", "net/example-net"},
	} {
		b.visitPage(one.page)
		b.expectText("main", one.link)
		b.runActions(chromedp.Click(fmt.Sprintf(`(//main//a[text()=%q])[1]`, one.link), chromedp.BySearch))
		b.expectText("main", one.want)
	}
	b.visitPage("/zones/net/example-net?search=shop")
	b.runActions(chromedp.Click(`//p[@role="status"]/a`, chromedp.BySearch), chromedp.WaitVisible("ol.serials li:target", chromedp.ByQuery))
	b.expectPeace()
}

func TestZone_searchesEntries(t *testing.T) {
	b := needStage(t).newTab(t)
	b.visitPage("/zones/platform/example-org")
	b.expectText("#live", "25 entries", "team-a/web")
	for search, want := range map[string]string{"apps": "2 entries", "mx": "2 entries", "192.0.2.80": "1 entry",
		"203.0.113.0/24": "2 entries", "2001:db8::/32": "2 entries", "nothing": "0 entries"} {
		b.visitPage("/zones/platform/example-org")
		b.runActions(chromedp.SendKeys("input[name=search]", search, chromedp.ByQuery))
		b.expectText("#live", want)
	}
	b.visitPage("/zones/platform/example-org")
	b.runActions(chromedp.SendKeys("input[name=search]", "apps", chromedp.ByQuery))
	b.expectText("#live", "2 entries")
	var at string
	b.runActions(chromedp.Location(&at), chromedp.Reload(), chromedp.WaitReady("main"))
	if !strings.HasSuffix(at, "search=apps&type=") {
		t.Errorf("the address of a search is %s", at)
	}
	b.expectText("#live", "2 entries")
	b.expectPeace()
}

func TestZone_comparesSerials(t *testing.T) {
	s := needStage(t)
	b := s.newTab(t)
	b.visitPage("/zones/net/example-net/history")
	b.expectText("#live", "kubizone-admin", "Request", "net/www", "+ www.example.net. A 192.0.2.7", "+ Zone example.net., name servers ns1")
	s.writeObject(t, http.MethodPatch, "/namespaces/net/records/www", `{"spec":{"rdata":"192.0.2.8"}}`)
	b.expectText("#live li:first-child", "- www.example.net. A 192.0.2.7", "+ www.example.net. A 192.0.2.8")
	b.runActions(chromedp.Click("#live li:first-child summary", chromedp.ByQuery))
	b.expectText("#live li:first-child details", "kubectl kubizone revert net/example-net --to ")
	b.runActions(chromedp.Click(`(//ol[@class="serials"]//a[text()="from here to the newest"])[last()]`, chromedp.BySearch),
		chromedp.WaitVisible(`//h2[contains(., "From serial")]`, chromedp.BySearch))
	if text := b.readText("#live pre"); strings.Contains(text, "192.0.2.7") || !strings.Contains(text, "192.0.2.8") {
		t.Errorf("the difference is not net:\n%s", text)
	}
	b.expectText("#live", "kubectl kubizone revert net/example-net --to ", "asks first")
	b.visitPage("/zones/net/example-net/history?name=shop&by=admin")
	b.expectText("#live", "team-c/shop", "kubectl kubizone log shop.example.net. --by admin --follow")
	if text := b.readText("#live ol"); strings.Contains(text, "net/www") {
		t.Errorf("changes of other names:\n%s", text)
	}
	b.visitPage("/zones/net/example-net/history?from=x&to=1")
	b.expectText("#live", "each is a number")
	s.writeObject(t, http.MethodPatch, "/namespaces/net/records/www", `{"spec":{"rdata":"192.0.2.7"}}`)
	b.expectPeace()
}

func TestConsole_isNotLiveWithoutTheRightToFollow(t *testing.T) {
	b := needStage(t).newTab(t)
	b.visitPage("/zones")
	b.expectText("#live-state", "live")
	const event = `htmx.trigger(document.getElementById("live"), "unfollowed", {data: "you lack the right to watch <b>zones</b>"})`
	b.runActions(chromedp.Evaluate(event, nil))
	b.expectText("#live-state", "not live: you lack the right to watch <b>zones</b>")
	b.expectPeace()
}

func TestZone_plotsTheLag(t *testing.T) {
	b := needStage(t).newTab(t)
	b.visitPage("/zones/net/example-net/delivery")
	b.expectText("#live", "public", "127.0.0.1:1")
	b.runActions(chromedp.WaitVisible("#plot canvas", chromedp.ByQuery))
	b.expectText("#plot-text", "Behind now: public")
	b.expectText("section[aria-labelledby=lag]", "since this page was opened")
	b.expectPeace()
}

func TestZone_showsRulesAndDNSSEC(t *testing.T) {
	b := needStage(t).newTab(t)
	b.visitPage("/zones/net/example-net/rules")
	b.expectText("#live", "team-c", "Delegation team-c", "*.c", "Claimed names", "shop.example.net.")
	b.visitPage("/zones/net/example-net/dnssec")
	b.expectText("#live", "not signed", "Next step")
	b.visitPage("/zones/net/nothing")
	b.expectText("#main", "not found")
}

func TestName_isDrawnAsAChain(t *testing.T) {
	b := needStage(t).newTab(t)
	b.visitPage("/name")
	b.runActions(chromedp.SendKeys("input[name=text]", "www.example.net"+kb.Enter, chromedp.ByQuery),
		chromedp.WaitVisible("ol.chain", chromedp.ByQuery))
	b.expectText("ol.chain", "Rule", "Record", "Zone", "Serial", "Class", "public")
	var fails []string
	b.runActions(chromedp.Evaluate(`[...document.querySelectorAll("ol.chain li.fails h3")].map((e) => e.textContent)`, &fails))
	if len(fails) == 0 {
		t.Error("no link is red, though the server does not answer")
	}
	b.expectText(".verdict", "public", "the platform")
	b.expectText("main", "Last change by kubizone-admin", "Request, serial 20")
	b.visitPage("/name")
	b.runActions(chromedp.SetValue("input[name=namespace]", "team-c", chromedp.ByQuery),
		chromedp.SendKeys("input[name=text]", "record/shop"+kb.Enter, chromedp.ByQuery), chromedp.WaitVisible("ol.chain", chromedp.ByQuery))
	b.expectText("main", "record team-c/shop", "Last change by kubizone-admin")
	b.visitPage("/name?text=record/lost&type=")
	b.expectText("#main", "no answer", "record default/lost", "not found")
	b.visitPage("/name?text=www.nowhere.example")
	b.expectText("ol.chain", "NoEnclosingZone")
	b.expectPeace()
}

func TestMay_showsTheRefusal(t *testing.T) {
	b := needStage(t).newTab(t)
	ask := func(namespace, name, rrtype, data string) {
		b.visitPage("/may")
		b.runActions(chromedp.SetValue("input[name=namespace]", namespace, chromedp.ByQuery),
			chromedp.SendKeys("input[name=name]", name, chromedp.ByQuery), chromedp.SendKeys("input[name=type]", rrtype, chromedp.ByQuery),
			chromedp.SendKeys("input[name=data]", data+kb.Enter, chromedp.ByQuery), chromedp.WaitVisible(".verdict", chromedp.ByQuery))
	}
	ask("team-a", "new.apps.example.org", "A", "")
	b.expectText(".verdict", "yes", "*.apps")
	ask("net", "www.example.org", "A", "")
	b.expectText(".verdict", "no")
	ask("team-a", "new.apps.example.org", "A", "not-an-address")
	b.expectText(".verdict", "no", "not-an-address")
	b.expectPeace()
}

func TestPlan_isThatOfThePullRequest(t *testing.T) {
	b := needStage(t).newTab(t)
	b.visitPage("/plan")
	file := b.stage.dir + "/change.yaml"
	if err := os.WriteFile(file, []byte("apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {namespace: team-c, name: shop}\n"+
		"spec: {domainName: shop.example.net., type: A, rdata: 198.51.100.99}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.runActions(chromedp.SetUploadFiles("input[type=file]", []string{file}, chromedp.ByQuery),
		chromedp.Click("form button", chromedp.ByQuery), chromedp.WaitVisible("pre", chromedp.ByQuery))
	b.expectText("#main", "zone example.net.", "198.51.100.99", "plan: nothing is kept", "Told: public")
	b.visitPage("/plan")
	b.runActions(chromedp.SendKeys("textarea", "new 60 IN A 192.0.2.50\n", chromedp.ByQuery),
		chromedp.SendKeys("input[name=zone]", "net/example-net"+kb.Enter, chromedp.ByQuery), chromedp.WaitVisible("pre", chromedp.ByQuery))
	b.expectText("#main", "+ new.example.net.")
	b.visitPage("/zones/net/example-net?search=new")
	b.expectText("#live", "0 entries") // nothing was written
	b.expectPeace()
}

// Every page can be read without scripts: the HTML from the server has the whole content.
func TestPages_areReadWithoutScripts(t *testing.T) {
	b := needStage(t).newTab(t)
	b.runActions(emulation.SetScriptExecutionDisabled(true))
	for path, want := range map[string]string{"/": "example.org.", "/zones?name=dev": "dev.example.org.",
		"/zones/platform/example-org?search=apps": "2 entries", "/zones/net/example-net/history": "net/www",
		"/zones/net/example-net/delivery": "127.0.0.1:1", "/zones/net/example-net/rules": "team-c",
		"/records?state=waiting": "www.nowhere.example.", "/name?text=www.example.net": "Last change by kubizone-admin"} {
		b.runActions(chromedp.Navigate(b.stage.base+path), chromedp.WaitReady("main"))
		b.expectText("main", want)
	}
}

// The page can be used by keyboard: the first press of Tab reaches the link to the content, and further ones every
// control in the order of the page.
func TestPages_areUsedByKeyboard(t *testing.T) {
	b := needStage(t).newTab(t)
	b.visitPage("/zones")
	var focused []string
	for range 8 {
		var at string
		b.runActions(chromedp.KeyEvent(kb.Tab),
			chromedp.Evaluate(`document.activeElement.textContent.trim() || document.activeElement.name`, &at))
		focused = append(focused, strings.TrimSpace(strings.SplitN(at, "\n", 2)[0]))
	}
	if got := fmt.Sprint(focused); got != "[Skip to the content Overview Zones Records A name May I? Plan name]" {
		t.Errorf("Tab leads to %s", got)
	}
	b.visitPage("/zones")
	b.runActions(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	var at string
	b.runActions(chromedp.Evaluate("document.activeElement.id", &at))
	if at != "main" {
		t.Errorf("the skip link leads to %q", at)
	}
}
