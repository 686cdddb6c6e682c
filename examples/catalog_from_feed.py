"""Loads a merchant's feed into a catalog.

Use it to keep a catalog up to date with a shop feed, night after night. Only changed products are
sent, and products that have vanished from the feed are deleted.

The feed is RSS, Atom, CSV, TSV, JSON or Parquet. It is checked before anything is sent, so a broken
feed changes nothing. The first run writes the digest file, from which later runs know what has
changed. Hosts and credentials come from SOCIALAPI_* variables. Run it against a local emulator,
with your feed in feed.xml:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/catalog_from_feed.py 7pc01 feed.xml

What to change:

- `MAX_REJECT_SHARE`: how many unusable products stop the load; 0.1 is 10 %
- `max_vanished_share`: how many products may be deleted in one run; remove `delete_vanished` to
  delete none
- `digests`: a path on a persistent disk; without the file, every product is sent again
- add `columns={"price": "Preis"}` to `lint` and `upsert` if the name of a column in your feed is not
  recognized
"""

import asyncio
import sys

from socialapi import Client, errors
from socialapi.resources import Products

MAX_REJECT_SHARE = 0.1


async def is_fit(products: Products, feed: str) -> bool:
    """Returns whether the feed can be loaded. Prints the findings that the merchant should know."""
    look = await products.lint(feed)
    for finding in look.findings:
        print(f"{'error' if finding.is_error else 'note'}: {finding.text}")
    if look.broken_off is not None:
        print(f"the feed could not be read completely: {look.broken_off}")
    return look.broken_off is None and look.rows > 0 and look.unusable_rows <= MAX_REJECT_SHARE * look.rows


async def main(catalog_id: str, feed: str) -> int:
    """Loads the feed. Returns the exit status, as `scheduler_task.py` does."""
    async with Client.from_env() as client:
        products = client.catalog(catalog_id).products
        try:
            if not await is_fit(products, feed):
                print("nothing was sent")
                return 2
            report = await products.upsert(
                feed,
                digests="catalog.digests",
                delete_vanished=True,
                max_vanished_share=0.5,
                max_reject_share=MAX_REJECT_SHARE,
                rejects="rejects.csv",
            )
        except errors.SocialApiError as stopped:
            print(f"{stopped}; run it again: products that were loaded are skipped")
            return 2 if stopped.is_lasting else 3
    print(f"{report.created} created, {report.updated} updated, {report.skipped} as before, {report.deleted} deleted")
    for reject in report.rejects:
        print(f"row {reject.row} ({reject.product_id}) was rejected: {reject.field}: {reject.reason}")
    return 1 if report.rejected else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:3])))
