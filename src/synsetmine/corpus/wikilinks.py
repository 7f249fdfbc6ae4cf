"""Where the links of a wiki lead: to an article, or to something that is no entity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from urllib.parse import unquote

from synsetmine.text import nfc


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A link with one of these before its colon leads to the same article in another language.
LANGUAGES = words(
    """
    aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az
    azb ba ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br
    bs btm bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de
    dga din diq dsb dtp dty dv dz ee el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr
    frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he
    hi hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jv
    ka kaa kab kbd kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad
    lb lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi
    min mk ml mn mni mnw mos mr mrj ms mt mus mwl my myv mzn na nah nan nap nb nds nds-nl ne new ng
    nia nl nn no nov nqo nr nrm nso nup nv ny oc olo om or os pa pag pam pap pcd pcm pdc pdt pfl pi
    pih pl pms pnb pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw sa sah sat sc
    scn sco sd se sg sgs sh shi shn si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw
    szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm
    ug uk ur uz ve vec vep vi vls vo vro war wa wo wuu xal xh xmf yi yo yue za zea zgh zh
    zh-classical zh-min-nan zh-yue zu
    """
)

# Sister projects and other places of the web that wikis have short names for.
ELSEWHERE = words(
    """
    b bugzilla c commons d doi foundation hdl imdbname imdbtitle incubator m mail mailarchive
    mediawikiwiki meta metawikipedia mw n outreach phab q rfc s species sourceforge toollabs
    v voy w wikibooks wikidata wikimedia wikinews wikipedia wikiquote wikisource wikispecies
    wikiversity wikivoyage wikt wiktionary wmf wp
    """
)

# English names serve in every wiki; files also have names from before 2008, which live on.
FILES = words(
    """
    file image media datei bild fichier archivo imagen ficheiro imagem immagine bestand afbeelding
    plik grafika файл изображение ファイル 画像
    """
)
OTHERS = words("special talk user project mediawiki template help portal draft module")
_FILE_KEYS = frozenset({-2, 6})
_CATEGORY_KEY = 14

# What `%7C` and `&lt;` may stand for, but no article can be called.
_IN_NO_TITLE = re.compile("[\x00-\x1f\x7f-\x9f\ufffd<>\\[\\]{}|]")
LONGEST_TITLE = 255  # bytes, as in MediaWiki


@dataclass(frozen=True)
class Site:
    """What a wiki calls the namespaces beside its articles, in lower case."""

    hidden: frozenset[str] = FILES | {"category"}  # a link to them shows nothing in the text
    others: frozenset[str] = OTHERS
    first_letter: bool = True  # whether the first letter of a title is always upper case

    @classmethod
    def of(cls, namespaces: Mapping[int, str], *, first_letter: bool = True) -> Site:
        """The site of a dump that lists its namespaces by number."""
        names = {key: name.replace("_", " ").lower() for key, name in namespaces.items() if name}
        hidden = {names[key] for key in names if key in _FILE_KEYS or key == _CATEGORY_KEY}
        return cls(
            hidden=cls.hidden | hidden,
            others=(cls.others | set(names.values())) - hidden,
            first_letter=first_letter,
        )


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads; `title` is "" where that is no article."""

    title: str
    hidden: bool = False  # whether the link stands for something outside of the running text


def read_target(written: str, site: Site) -> Target:
    """Read what stands in a link before its `|`.

    >>> read_target("new_York#History", Site()).title
    'New York'
    >>> read_target("File:Map.png", Site()).hidden, read_target(":de:Haus", Site()).hidden
    (True, False)
    """
    plain = _plain(written)
    shown = plain.startswith(":")  # [[:Category:X]] is a link to see, [[Category:X]] is none
    plain = plain.removeprefix(":").lstrip()
    prefix, colon, _ = plain.partition(":")
    if colon:
        space = prefix.rstrip().lower()
        if space in site.hidden or space in LANGUAGES:
            return Target("", hidden=not shown)
        if space in site.others or space in ELSEWHERE:
            return Target("")
    return Target(_title(plain, site))


def label_of(written: str) -> str:
    """What a link without an anchor of its own shows."""
    plain = _plain(written).removeprefix(":").lstrip()
    page, _, section = plain.partition("#")
    return page.strip() or section.strip()


def pipe_trick(written: str) -> str:
    """What `[[target|]]` shows: no namespace, nothing in brackets, nothing after a comma.

    >>> pipe_trick("Boston, Massachusetts"), pipe_trick("Help:Pipe (computing)")
    ('Boston', 'Pipe')
    """
    label = label_of(written)
    label = label.partition(":")[2].strip() or label
    if label.endswith(")") and " (" in label:
        return label[: label.rindex(" (")].rstrip()
    return label.partition(", ")[0]


def unescaped(text: str) -> str:
    """Without HTML's names and numbers of characters.

    >>> unescaped("AT&amp;T"), unescaped("&#65;")
    ('AT&T', 'A')
    """
    try:
        return unescape(text)
    except ValueError:  # Python reads no number of more than 4300 digits
        return text


def _plain(written: str) -> str:
    if "%" in written:
        written = unquote(written)
    if "&" in written:
        written = unescaped(written)
    return " ".join(written.replace("_", " ").split())


def _title(plain: str, site: Site) -> str:
    title = nfc(plain.partition("#")[0].rstrip())
    if not title or title.startswith(("/", "../")) or _IN_NO_TITLE.search(title):
        return ""
    if len(title.encode()) > LONGEST_TITLE:
        return ""
    first = title[0].upper()
    return first + title[1:] if site.first_letter and len(first) == 1 else title
