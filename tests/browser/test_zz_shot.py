from tests.browser.test_device_login import *
from tests.browser.test_device_login import address, started
def test_x(page: Page, address: str, started: Started) -> None:
    page.set_viewport_size(PHONE)
    for path in (f"device/?user_code={started.user_code}", "admin/governance/apikey/new/", "admin/device/", "admin/"):
        page.goto(address.replace("device/", "")+ path)
        print(path, page.evaluate("""() => ['#main','.main > .content, #main > .content','#content','.content','#content-start','.panel','footer'].map(s => { const e=document.querySelector(s); return e ? [s, e.getBoundingClientRect().width, getComputedStyle(e).display, getComputedStyle(e).width, e.className].join(' ') : s})"""))
    page.screenshot(path="/tmp/hk/phone2.png")
