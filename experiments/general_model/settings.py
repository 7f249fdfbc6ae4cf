"""The numbers that shape the general model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from synsetmine.errors import DataError


@dataclass(frozen=True, kw_only=True)
class GeneralSettings:
    """All settings of training, in the order of its stages, with the reason for each default."""

    # Lists
    skipped: tuple[str, ...] = ("nicknames",)  # one nickname stands for many first names
    list_sets: int = 12_000  # entities of a list with several names: training takes minutes
    list_singles: int = 4_800  # entities with one name: distillation needs some, pairs none
    folds: int = 4  # one is kept from the encoder: on names it learned it is too sure of itself
    test_parts: int = 5  # one part of that fold is kept from the classifier, for the ARI table
    shared_letters: int = 7  # shorter equal names are mostly chance and would join all entities
    excluded_letters: int = 4  # a list left out takes more along: an encoder must not know it
    least_sets: int = 20  # fewer sets with several names give no batch worth the name
    groups: int = 4  # encoders that have not seen some lists; each costs a training

    # Teacher, a sentence encoder
    teacher_tokens: int = 32  # longer names are rare

    # Static table
    dimension: int = 128  # as good as 256 at half the size
    buckets: int = 65_536  # of character n-grams; half as many collide more
    steps: int = 6_000
    warmup: int = 200  # steps
    rate: float = 2e-3  # of Adam, with cosine decay
    batch: int = 1_024  # pairs; in-batch negatives need many
    one_list: float = 1.0  # negatives from the same list are harder
    list_exponent: float = 0.5  # a list is drawn by its sets to this power: small ones count too
    temperature: float = 0.06  # of InfoNCE and of the teacher's neighbourhoods
    distilled: int = 768  # names of lists whose neighbourhoods are compared in a step
    distilled_phrases: int = 768  # and phrases: without them 3 points less ARI on other data
    neighbourhood_weight: float = 0.3  # KL divergence; small, so that the lists lead
    cosine_weight: float = 6.0  # squared error of cosines; keeps their scale comparable
    name_rows: int = 96  # rows of the table in a name; longer names are cut in training
    pca_names: int = 50_000  # enough for 128 directions
    bucket_scale: float = 0.02  # of random rows of n-grams, small beside those of word pieces
    least_weight: float = 0.05  # of a row that is in nearly every name, by inverse frequency

    # Word weights
    without_words: tuple[str, ...] = ("hgnc", "taxa", "us-states")  # symbols, Latin, abbreviations
    word_buckets: int = 1 << 17  # few frequent words and pairs of words collide
    word_entities: int = 7_000  # of a list; near pairs of more take long
    word_names: int = 8  # of an entity; large ones would outweigh the others
    word_neighbours: int = 8  # of a name that may be negatives
    word_level: int = 5  # neighbours whose mean cosine tells how dense the place is
    word_cosine: float = 0.4  # of negatives, at least: far pairs are easy without words
    word_positives: int = 20_000  # pairs of a list, so that none dominates
    word_negatives: int = 30_000
    word_penalty: float = 3e-6  # rare words keep weights near 0
    word_epochs: int = 12

    # Vocabularies that the pair classifier learns from
    classifier_names: int = 2_500  # of entities with several names, of each list
    classifier_singles: int = 800  # so that a vocabulary has names without a partner
    set_names: int = 12  # of an entity; users' sets are small
    whole_sets: float = 0.6  # share of sets that are not cut; real sets are often incomplete
    vocabulary_names: int = 1_100
    single_shares: tuple[float, ...] = (0.0, 0.5, 0.0, 0.5)  # of names that stand alone
    further_shares: tuple[float, ...] = (0.25, 0.7, 0.8)  # one of them for a third vocabulary
    small_names: tuple[int, ...] = (60, 120, 200, 350, 500)  # of smaller ones; one drawn for each
    small_shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75) * 2
    small_set_names: int = (
        3  # of a set, at least, in small vocabularies where few names stand alone
    )
    small_sets: int = 25  # of that size, at least; else smaller ones are drawn too
    mixed_names: tuple[int, ...] = (6_000, 6_000)  # vocabularies of all lists: sizes differ
    mixed_shares: tuple[float, ...] = (0.5, 0.2)
    group_mixed_names: int = 4_000  # a vocabulary of all lists of a group
    group_mixed_shares: tuple[float, ...] = (0.5, 0.2, 0.7, 0.0)  # by group
    least_names: int = 12  # of a vocabulary
    dense_pool: int = 6_000  # entities of a list among which near ones are looked up
    dense_seeds: tuple[int, ...] = (14, 7, 4, 3)  # sets that a dense vocabulary begins with
    group_dense_seeds: tuple[int, ...] = (10, 5, 3, 2)
    dense_neighbours: int = 14  # names near a seed whose entities come along
    dense_names: int = 8  # of an entity
    dense_singles: float = 0.45  # share of entities that are cut to one name
    least_dense_names: int = 8
    near_names: tuple[int, ...] = (16, 30, 60, 150, 400)  # of vocabularies with some near misses
    near_shares: tuple[float, ...] = (0.0, 0.3, 0.5, 0.5) * 2  # of names that stand alone
    near_miss_shares: tuple[float, ...] = (0.1, 0.25, 0.5)  # of names that get a near miss
    near_tries: int = 12  # nearest names that are looked at for one

    # Pair classifier
    kinds: tuple[tuple[str, ...], ...] = (  # of names; all count alike, as do the lists of one
        ("wordnet-frequent", "wordnet-rare", "wikipedia"),
        (
            *("wordnet-instances", "cities", "countries", "us-states", "languages"),
            *("brands", "legislators", "parties", "teams"),
        ),
        (
            *("mesh", "mondo", "uberon", "go", "cl", "efo", "edam", "enzymes"),
            *("chemicals", "hgnc", "famplex", "taxa"),
        ),
        ("vera", "courts", "law-reports", "journals", "units", "currencies"),
        ("foldoc", "programming", "simple-icons"),
    )
    full_names: int = 600  # a smaller vocabulary counts less, by its size
    full_dense_names: int = 150
    dense_weight: float = 2.0  # of dense vocabularies; users' lists have more near misses
    closed_share: float = 0.05  # of single names; a vocabulary with fewer is closed
    closed_weight: float = 2.0  # of closed vocabularies, of which few are drawn
    hard_share: float = 0.15  # of the nearest pairs of a vocabulary, all kept
    kept: float = 0.05  # of the other negatives, with weights; most are alike
    kept_small: float = 0.3  # in vocabularies with few pairs
    small_pairs: int = 20_000
    hidden: tuple[int, ...] = (128, 64)  # (32, 16) has 2 points less ARI on other data
    epochs: int = 6  # few, since the pairs are many; 12 are no better
    classifier_rate: float = 3e-3
    classifier_decay: float = 1e-4
    classifier_batch: int = 8_192
    least_deviation: float = 1e-3  # added to each feature's, some of which are constant

    # Set function
    parts_draws: int = 2  # random partitions of each vocabulary's true sets
    likely: float = 0.01  # mean probability between two parts, else mining never asks
    penalty: float = 1.0  # of the logistic regression

    # Table of ARI
    test_share: float = 0.5  # of names that stand alone, as in the lists that users bring
    threshold: float = 0.3  # the balanced one

    def list_weight(self, source: str) -> float:
        """How much a list counts; one on average, and so do vocabularies of several lists."""
        for kind in self.kinds:
            if source in kind:
                return sum(map(len, self.kinds)) / (len(self.kinds) * len(kind))
        return 1.0

    def with_steps(self, steps: int) -> GeneralSettings:
        """The same with this many steps for the static table."""
        if steps < 1:
            raise DataError("expected a number of steps from 1 on", value=steps)
        return replace(self, steps=steps)
